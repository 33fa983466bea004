// File descriptors and error messages for the files of this folder.
#pragma once
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <system_error>
#include <utility>

#include "weft/error.h"

namespace weft::os {

[[noreturn]] inline void fail(const char* what, const std::string& path, int error = errno) {
  throw Error(std::string("[file] can't ") + what + " \"" + path + "\": " + std::generic_category().message(error));
}

// Makes a system call and repeats it while signals interrupt it.
template <class Call>
auto uninterrupted(Call call) {
  auto result = call();
  while (result == -1 && errno == EINTR) result = call();
  return result;
}

class Descriptor {
 public:
  explicit Descriptor(int value) : value_(value) {}
  ~Descriptor() {
    if (value_ >= 0) ::close(value_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  operator int() const noexcept { return value_; }

  // Gives the descriptor to the caller, who must close it.
  int release() noexcept { return std::exchange(value_, -1); }

 private:
  int value_;
};

// With O_NONBLOCK, opening a pipe without a writer does not block forever. Regular files ignore the flag.
inline int open_to_read(const std::string& path, int flags) {
  const int descriptor = uninterrupted([&] { return ::open(path.c_str(), O_RDONLY | O_CLOEXEC | flags); });
  if (descriptor < 0) fail("open", path);
  return descriptor;
}

inline struct stat status(int descriptor, const std::string& path) {
  struct stat s;
  if (::fstat(descriptor, &s) != 0) fail("read the status of", path);
  return s;
}

}  // namespace weft::os
