#include "console/input_file.h"

#include <fcntl.h>
#include <weft/error.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

#include "system/windows/console.h"

namespace {

[[noreturn]] void fail(const char* what, const std::string& name, int error = errno) {
  throw weft::Error(std::string("can't ") + what + " " + name + ": " + std::generic_category().message(error));
}

// Reads a line, which ends with "\r\n", from a console. A console gives UTF-8 only if it is read as UTF-16. The end is
// Ctrl-Z at the beginning of a line.
std::size_t read_console(HANDLE console, char* data, std::size_t bytes, const std::string& name) {
  wchar_t line[4096];
  const auto room = static_cast<DWORD>(std::min(std::size(line), bytes / 3));  // 3 bytes for a unit of UTF-16 suffice
  DWORD count = 0;
  if (!::ReadConsoleW(console, line, room, &count, nullptr)) fail("read", name, EIO);
  if (count == 0 || line[0] == 0x1A) return 0;
  return static_cast<std::size_t>(::WideCharToMultiByte(CP_UTF8, 0, line, static_cast<int>(count), data,
                                                        static_cast<int>(bytes), nullptr, nullptr));
}

}  // namespace

InputFile::InputFile(const std::string& path) : name_(path == "-" ? "standard input" : "\"" + path + "\"") {
  if (path != "-") descriptor_ = ::_open(path.c_str(), _O_RDONLY | _O_BINARY | _O_NOINHERIT);
  if (descriptor_ < 0) fail("open", name_);
}

InputFile::~InputFile() {
  if (descriptor_ > 0) ::_close(descriptor_);
}

std::size_t InputFile::read(char* data, std::size_t bytes) {
  if (is_terminal()) return read_console(handle_of(descriptor_), data, bytes, name_);
  const int got = ::_read(descriptor_, data, static_cast<unsigned>(std::min(bytes, std::size_t{1} << 30)));
  if (got < 0) fail("read", name_);
  return static_cast<std::size_t>(got);
}

bool InputFile::is_ready() const noexcept {
  if (::GetFileType(handle_of(descriptor_)) != FILE_TYPE_PIPE) return !is_terminal();
  DWORD bytes = 0;
  return !::PeekNamedPipe(handle_of(descriptor_), nullptr, 0, nullptr, &bytes, nullptr) || bytes > 0;
}

bool InputFile::is_terminal() const noexcept { return is_console(descriptor_); }
