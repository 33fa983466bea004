// The process that writes a temporary file or folder keeps it locked, so other processes know that it is in use. The
// system releases the lock when the process ends. Unlike process numbers, the lock also works between containers, where
// two processes may have the same number.
#pragma once
#include <sys/file.h>

#include <string>

#include "system/posix/descriptor.h"
#include "system/shared.h"

namespace weft::os {

// Returns false if another process holds the lock or the file system has no locks.
inline bool try_lock(int descriptor) noexcept {
  return uninterrupted([&] { return ::flock(descriptor, LOCK_EX | LOCK_NB); }) == 0;
}

// Whether the open file or folder still has this name.
inline bool is_named(int descriptor, const std::string& path) noexcept {
  struct stat open, named;
  return ::fstat(descriptor, &open) == 0 && ::lstat(path.c_str(), &named) == 0 && open.st_ino == named.st_ino &&
         open.st_dev == named.st_dev;
}

// Locks a file or folder that this process has just created. Returns false if another process considered it abandoned
// and has already removed it. If the file system has no locks, continues without one.
inline bool lock_new(int descriptor, const std::string& path) noexcept {
  (void)uninterrupted([&] { return ::flock(descriptor, LOCK_EX); });
  return is_named(descriptor, path);
}

}  // namespace weft::os
