// Tests of locks: which process may write into a folder, and which temporary files are abandoned.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <memory>
#include <vector>

#include "temporary_folder.h"
#include "weft/error.h"
#include "weft/os.h"

namespace {

using weft::os::AtomicFile;
using weft::os::FolderLock;

// A process that runs `body` and then waits to be killed.
class Child {
 public:
  template <class Body>
  explicit Child(Body body) {
    int ends[2];
    REQUIRE(::pipe(ends) == 0);
    pid = ::fork();
    if (pid == 0) {
      const auto kept = body();
      (void)!::write(ends[1], "x", 1);
      for (;;) ::pause();
    }
    ::close(ends[1]);
    char ready;
    CHECK(::read(ends[0], &ready, 1) == 1);
    ::close(ends[0]);
  }
  ~Child() { kill(); }
  void kill() {
    if (pid <= 0) return;
    ::kill(pid, SIGKILL);
    ::waitpid(pid, nullptr, 0);
    pid = -1;
  }
  pid_t pid;
};

}  // namespace

TEST_CASE("locks: only one process at a time can lock a folder, and the error names the process that holds the lock") {
  const TemporaryFolder folder;
  auto lock = std::make_unique<FolderLock>(folder / "");
  const std::string own = "process " + std::to_string(::getpid()) + " on ";
  CHECK_THROWS_WITH_AS(FolderLock(folder / ""), doctest::Contains(own.c_str()), weft::Error);
  lock.reset();
  CHECK(folder.read(".lock").empty());
  {
    const FolderLock again(folder / "");
    CHECK(folder.read(".lock").rfind(own, 0) == 0);
  }
  Child child([&] { return std::make_unique<FolderLock>(folder / ""); });
  const std::string its = "\" is in use by process " + std::to_string(child.pid) + " on ";
  CHECK_THROWS_WITH_AS(FolderLock(folder / ""), doctest::Contains(its.c_str()), weft::Error);
  child.kill();
  const FolderLock after_its_end(folder / "");
  CHECK_THROWS_WITH_AS(FolderLock(folder / "missing"), doctest::Contains("missing"), weft::Error);
}

TEST_CASE(
    "locks: a copied folder whose .lock is a symbolic link, a pipe or a hard link leaves the other file unchanged") {
  const TemporaryFolder folder;
  const std::string precious = "what somebody else wrote";
  folder.write("precious", precious);
  folder.write("run/empty", "");
  const std::string path = folder / "run/.lock";
  const auto refused = [&](const std::string& got) {
    const std::string error = "expected \"" + path + "\" to be a regular file, got " + got;
    CHECK_THROWS_WITH_AS(FolderLock(folder / "run"), doctest::Contains(error.c_str()), weft::Error);
    ::unlink(path.c_str());
  };
  for (const char* target : {"../precious", "empty", "missing", ".lock"}) {
    std::filesystem::create_symlink(target, path);
    refused("a symbolic link");
  }
  CHECK(folder.read("precious") == precious);
  CHECK_FALSE(std::filesystem::exists(folder / "run/missing"));
  REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
  refused("another kind of file");
  for (const std::string& text : {precious, "process " + precious}) {
    folder.write("precious", text);
    std::filesystem::create_hard_link(folder / "precious", path);
    {
      const FolderLock lock(folder / "run");
      CHECK_THROWS_WITH_AS(FolderLock(folder / "run"), doctest::Contains("in use by another process"), weft::Error);
    }
    CHECK(folder.read("precious") == text);
    ::unlink(path.c_str());
  }
  folder.write("run/.lock", precious);
  { const FolderLock lock(folder / "run"); }
  CHECK(folder.read("run/.lock") == precious);
}

TEST_CASE("locks: only temporary files that no process writes are removed") {
  const TemporaryFolder folder;
  const std::vector<std::string> stale = {".weft-1-0.tmp", ".weft-4194305-17.tmp",
                                          ".weft-" + std::to_string(::getpid()) + "-4294967295.tmp"};
  const std::vector<std::string> kept = {".weft-1-0.tmpx", "weft-1-0.tmp", ".weft-1-0.tm", "model.safetensors",
                                         ".weft-1-1.tmp.d/file"};
  for (const auto& names : {stale, kept})
    for (const std::string& file : names) folder.write(file, "x");
  // This file belongs to a process of another container. No process here has that number.
  const std::string far = ".weft-4194306-0.tmp";
  folder.write(far, "x");
  const int descriptor = ::open((folder / far).c_str(), O_RDWR);
  REQUIRE(::flock(descriptor, LOCK_EX) == 0);
  Child child([&] {
    auto file = std::make_unique<AtomicFile>(folder / "killed");
    file->write("y", 1);
    return file;
  });
  AtomicFile open(folder / "a");
  const std::size_t files = folder.files();
  weft::os::remove_abandoned_files(folder / "");
  CHECK(folder.files() == files - stale.size());
  for (const std::string& file : stale) CHECK_FALSE(std::filesystem::exists(folder / file));
  for (const std::string& file : kept) CHECK(std::filesystem::exists(folder / file));
  CHECK(std::filesystem::exists(folder / far));
  ::close(descriptor);
  child.kill();
  weft::os::remove_abandoned_files(folder / "");
  CHECK(folder.files() == files - stale.size() - 2);
  open.write("b", 1);
  open.commit();
  CHECK(folder.read("a") == "b");
  weft::os::remove_abandoned_files(folder / "missing");
}
