#include "console/input_file.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>
#include <weft/error.h>

#include <cerrno>
#include <system_error>

namespace {

[[noreturn]] void fail(const char* what, const std::string& name) {
  throw weft::Error(std::string("can't ") + what + " " + name + ": " + std::generic_category().message(errno));
}

}  // namespace

InputFile::InputFile(const std::string& path) : name_(path == "-" ? "standard input" : "\"" + path + "\"") {
  if (path != "-") descriptor_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor_ < 0) fail("open", name_);
}

InputFile::~InputFile() {
  if (descriptor_ > 0) ::close(descriptor_);
}

std::size_t InputFile::read(char* data, std::size_t bytes) {
  ssize_t got;
  do got = ::read(descriptor_, data, bytes);
  while (got < 0 && errno == EINTR);
  if (got < 0) fail("read", name_);
  return static_cast<std::size_t>(got);
}

bool InputFile::is_ready() const noexcept {
  pollfd wait{descriptor_, POLLIN, 0};
  return ::poll(&wait, 1, 0) == 1;
}

bool InputFile::is_terminal() const noexcept { return ::isatty(descriptor_) == 1; }
