// Temporary files and folders: .weft-PROCESS-….tmp. Their writer keeps them locked, by which others know that they are in use:
// the system releases the lock when the process ends, and knows it in containers, too, where another process may have the same
// number.
#pragma once
#include <sys/file.h>

#include <string>

#include "system/descriptor.h"

namespace weft::os {

inline bool is_temporary(const std::string& name) {
  return name.size() > 10 && name.rfind(".weft-", 0) == 0 && name.compare(name.size() - 4, 4, ".tmp") == 0;
}

// False if another process has the lock, or if that is not known.
inline bool try_lock(int descriptor) noexcept {
  return uninterrupted([&] { return ::flock(descriptor, LOCK_EX | LOCK_NB); }) == 0;
}

// Whether the open file or folder still has that name.
inline bool is_named(int descriptor, const std::string& path) noexcept {
  struct stat open, named;
  return ::fstat(descriptor, &open) == 0 && ::lstat(path.c_str(), &named) == 0 && open.st_ino == named.st_ino &&
         open.st_dev == named.st_dev;
}

// Locks what this process has just made. False if another process took it for abandoned meanwhile and removed it. Where there
// are no locks it goes on without.
inline bool lock_new(int descriptor, const std::string& path) noexcept {
  (void)uninterrupted([&] { return ::flock(descriptor, LOCK_EX); });
  return is_named(descriptor, path);
}

}  // namespace weft::os
