// The place of temporary folders, for tests of kills.
#pragma once
#include <unistd.h>

#include <cstdlib>
#include <string>

// Puts temporary folders in memory while in scope, if possible. Syncing a disk takes nearly all of the time of a save,
// and kills should hit all of its moments.
class InMemory {
 public:
  InMemory() {
    if (::access("/dev/shm", W_OK | X_OK) != 0) return;
    if (const char* now = std::getenv("TMPDIR")) before_ = now;
    ::setenv("TMPDIR", "/dev/shm", 1);
  }
  ~InMemory() {
    if (before_.empty()) ::unsetenv("TMPDIR");
    else ::setenv("TMPDIR", before_.c_str(), 1);
  }
  InMemory(const InMemory&) = delete;
  InMemory& operator=(const InMemory&) = delete;

 private:
  std::string before_;
};
