// Chooses where temporary folders are, for tests that kill processes.
#pragma once
#include <unistd.h>

#include <cstdlib>
#include <string>

// While in scope, puts temporary folders in memory if possible. On a disk, syncing would take nearly all of the time of
// a save, so nearly all kills would happen during a sync. The tests need kills at all moments of a save.
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
