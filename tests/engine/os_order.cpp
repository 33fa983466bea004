// Checks the order of calls: a file's data reach the disk before its name does, and the entry in its folder afterwards.
// This program defines its own fsync and rename, which record the call and then do what the real functions do.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdio>
#include <string>
#include <vector>

#include "temporary_folder.h"
#include "weft/os.h"

namespace {

thread_local std::vector<std::string>* heard = nullptr;  // if not null, the calls of this thread are recorded here

std::string identity(const struct stat& s) {
  return std::to_string(s.st_ino) + (S_ISDIR(s.st_mode) ? " folder" : " of " + std::to_string(s.st_size) + " bytes");
}

std::string identity_of(const std::string& path) {
  struct stat s {};
  return ::stat(path.c_str(), &s) == 0 ? identity(s) : "nothing";
}

}  // namespace

extern "C" int fsync(int descriptor) {
  struct stat s {};
  if (heard != nullptr && ::fstat(descriptor, &s) == 0) heard->push_back("fsync " + identity(s));
  return static_cast<int>(::syscall(SYS_fsync, descriptor));
}

extern "C" int rename(const char* from, const char* to) noexcept {
  if (heard != nullptr) heard->push_back("rename " + identity_of(from) + " to " + to);
  return static_cast<int>(::syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0));
}

TEST_CASE("os: an atomic file is synced before it is renamed, and its folder afterwards") {
  const TemporaryFolder folder;
  for (int time = 0; time < 2; ++time) {  // first creates the file, then replaces it
    std::vector<std::string> calls;
    heard = &calls;
    {
      weft::os::AtomicFile file(folder / "a");
      file.write("text", 4);
      file.commit();
    }
    heard = nullptr;
    const std::string file = identity_of(folder / "a");
    CHECK(calls == std::vector<std::string>{"fsync " + file, "rename " + file + " to " + (folder / "a"),
                                            "fsync " + identity_of(folder / "")});
    CHECK(folder.read("a") == "text");
  }
}
