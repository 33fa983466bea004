// Tests of files, control groups and other services of the operating system.
#include "weft/os.h"

#include <doctest/doctest.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <thread>
#include <vector>

#include "system/linux/cgroup.h"
#include "temporary_folder.h"
#include "weft/error.h"

namespace {

using weft::detail::cgroup_limits;
using weft::os::AtomicFile;

void write_all(const std::string& path, const std::string& text) {
  AtomicFile file(path);
  file.write(text.data(), text.size());
  file.commit();
}

// Limits the size of files that this process writes.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    const struct rlimit limit { bytes, before_.rlim_max };
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() { ::setrlimit(RLIMIT_FSIZE, &before_); }

 private:
  struct rlimit before_;
};

}  // namespace

TEST_CASE("os: the program's own files") {
  const std::vector<std::string> files = weft::os::program_files();
#ifdef __linux__
  REQUIRE(files.size() == 1);  // weft is linked into the program here
  CHECK(std::filesystem::file_size(files[0]) > 100000);
#endif
  for (const std::string& file : files) CHECK(std::filesystem::exists(file));
}

#ifdef __linux__
TEST_CASE("os: a thread lowers its own priority and that of the threads that it starts") {
  const auto nice = [] { return ::getpriority(PRIO_PROCESS, 0); };  // of the calling thread
  const int before = nice();
  int lowered = 0, inherited = 0;
  std::thread([&] {
    weft::os::lower_thread_priority();
    lowered = nice();
    std::thread([&] { inherited = nice(); }).join();
  }).join();
  CHECK(lowered == std::min(before + 5, 19));
  CHECK(inherited == lowered);
  CHECK(nice() == before);
}
#endif

TEST_CASE("os: the numbers of threads and the memory use are those of this process") {
  cpu_set_t before, one;
  REQUIRE(sched_getaffinity(0, sizeof before, &before) == 0);
  CHECK(weft::os::available_threads() >= 1);
  CHECK(weft::os::available_threads() <= CPU_COUNT(&before));
  CPU_ZERO(&one);
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(cpu, &before)) {
      CPU_SET(cpu, &one);
      break;
    }
  REQUIRE(sched_setaffinity(0, sizeof one, &one) == 0);
  CHECK(weft::os::available_threads() == 1);
  REQUIRE(sched_setaffinity(0, sizeof before, &before) == 0);

  CHECK(weft::os::physical_memory() > (std::uint64_t{1} << 24));
  const std::uint64_t peak = weft::os::peak_resident_memory();
  CHECK(peak > (std::uint64_t{1} << 20));
  const std::string block(std::size_t{64} << 20, 'x');
  CHECK(weft::os::peak_resident_memory() >= peak);
  CHECK(weft::os::peak_resident_memory() > block.size());
}

TEST_CASE("os: mapped pages start at a huge page, have the requested number, and are unmapped when released") {
  for (const std::size_t bytes :
       {std::size_t{1}, weft::os::huge_page - 1, weft::os::huge_page, 5 * weft::os::huge_page / 4}) {
    CAPTURE(bytes);
    char* const block = static_cast<char*>(weft::os::map_pages(bytes));
    REQUIRE(block != nullptr);
    CHECK(reinterpret_cast<std::uintptr_t>(block) % weft::os::huge_page == 0);
    CHECK(std::count(block, block + bytes, 0) == static_cast<std::ptrdiff_t>(bytes));
    std::fill(block, block + bytes, 'x');
    unsigned char in_memory = 0;
    CHECK(::mincore(block, 1, &in_memory) == 0);
    weft::os::unmap_pages(block, bytes);
    CHECK(::mincore(block, 1, &in_memory) == -1);
  }
  CHECK(weft::os::map_pages(SIZE_MAX) == nullptr);
  CHECK(weft::os::map_pages(SIZE_MAX / 2) == nullptr);
}

TEST_CASE("os: limits of parent control groups apply, too (version 2)") {
  const TemporaryFolder root;
  root.write("app/job/cpu.max", "max 100000\n");
  root.write("app/cpu.max", "250000 100000\n");
  root.write("app/job/memory.max", "1000000\n");
  root.write("app/memory.max", "max\n");
  const std::string mount = root / "";
  const auto limits = weft::detail::cgroup_limits("0::/app/job\n", mount.substr(0, mount.size() - 1));
  CHECK(limits.cpus == 2.5);
  CHECK(limits.memory == 1000000);
  // A container that shows the host's path, but mounts its own group as the root.
  root.write("cpu.max", "50000 100000\n");
  CHECK(weft::detail::cgroup_limits("0::/host/path\n", mount).cpus == 0.5);
  CHECK(weft::detail::cgroup_limits("0::/\n", mount).cpus == 0.5);
}

TEST_CASE("os: limits of control groups (version 1)") {
  const TemporaryFolder root;
  root.write("cpu,cpuacct/docker/a/cpu.cfs_quota_us", "300000\n");
  root.write("cpu,cpuacct/docker/a/cpu.cfs_period_us", "100000\n");
  root.write("cpu,cpuacct/docker/cpu.cfs_quota_us", "-1\n");
  root.write("cpu,cpuacct/docker/cpu.cfs_period_us", "100000\n");
  root.write("memory/docker/a/memory.limit_in_bytes", "9223372036854771712\n");
  root.write("memory/memory.limit_in_bytes", "4096\n");
  const auto limits =
      weft::detail::cgroup_limits("5:cpu,cpuacct:/docker/a\n4:memory:/docker/a\n1:name=systemd:/\n", root / "");
  CHECK(limits.cpus == 3);
  CHECK(limits.memory == 4096);
}

TEST_CASE("os: control groups that are missing or malformed set no limit") {
  const TemporaryFolder root;
  root.write("cpu.max", "100000 0\n");
  root.write("memory.max", "lots\n");
  for (const char* text : {"", "\n", "0", "0:", "0::", "0::/", "::/../..\n", "7:memory", "7:cpu:/a/b"}) {
    CAPTURE(text);
    CHECK(std::isinf(weft::detail::cgroup_limits(text, root / "").cpus));
    CHECK(weft::detail::cgroup_limits(text, root / "").memory == std::numeric_limits<std::uint64_t>::max());
  }
}

TEST_CASE("os: an atomic file appears as a whole, at commit") {
  const TemporaryFolder folder;
  write_all(folder / "a", "first");
  CHECK(folder.read("a") == "first");
  struct stat status;
  REQUIRE(::stat((folder / "a").c_str(), &status) == 0);
  const mode_t mask = ::umask(0);
  ::umask(mask);
  CHECK((status.st_mode & 0777) == (0666 & ~mask));
  {
    AtomicFile file(folder / "a");
    file.write("second", 6);
    CHECK(folder.read("a") == "first");
    CHECK(folder.files() == 2);
  }
  CHECK(folder.read("a") == "first");
  CHECK(folder.files() == 1);
  AtomicFile file(folder / "a");
  file.write("sec", 3);
  file.write("ond", 3);
  file.commit();
  CHECK(folder.read("a") == "second");
  CHECK(folder.files() == 1);
  CHECK_THROWS_AS(file.write("x", 1), weft::Error);
  CHECK_THROWS_AS(file.commit(), weft::Error);
  CHECK(folder.read("a") == "second");
}

TEST_CASE("os: an atomic file keeps the old file's mode, and follows a link or replaces it") {
  const TemporaryFolder folder;
  write_all(folder / "target", "old");
  REQUIRE(::chmod((folder / "target").c_str(), 0640) == 0);
  std::filesystem::create_symlink("target", folder / "link");
  write_all(folder / "link", "new");
  CHECK(std::filesystem::is_symlink(folder / "link"));
  CHECK(folder.read("target") == "new");
  struct stat status;
  REQUIRE(::stat((folder / "target").c_str(), &status) == 0);
  CHECK((status.st_mode & 0777) == 0640);
  AtomicFile replacing(folder / "link", false);
  replacing.write("other", 5);
  replacing.sync();
  replacing.commit();
  CHECK_FALSE(std::filesystem::is_symlink(folder / "link"));
  CHECK(folder.read("link") == "other");
  CHECK(folder.read("target") == "new");
}

TEST_CASE("os: a write that fails leaves the old file and reports the reason") {
  const TemporaryFolder folder;
  write_all(folder / "a", "old");
  CHECK_THROWS_WITH_AS(AtomicFile(folder / "missing/a"), doctest::Contains("missing/a\": No such file"), weft::Error);
  CHECK_THROWS_WITH_AS(AtomicFile(folder / ""), doctest::Contains("not a regular file"), weft::Error);
  CHECK_THROWS_WITH_AS(AtomicFile("/dev/null"), doctest::Contains("not a regular file"), weft::Error);
  CHECK_THROWS_AS(AtomicFile(""), weft::Error);
  {
    const FileSizeLimit limit(4096);
    const std::string text(10000, 'x');
    CHECK_THROWS_WITH_AS(write_all(folder / "a", text), doctest::Contains("/a\": File too large"), weft::Error);
    sigset_t pending;
    sigpending(&pending);
    CHECK(sigismember(&pending, SIGXFSZ) == 0);
    CHECK(pthread_sigmask(SIG_BLOCK, nullptr, &pending) == 0);
    CHECK(sigismember(&pending, SIGXFSZ) == 0);
  }
  CHECK(folder.read("a") == "old");
  CHECK(folder.files() == 1);
}

TEST_CASE("os: a line that can't be appended completely is not appended at all") {
  const TemporaryFolder folder;
  weft::os::append(folder / "a", "first\n");
  {
    const FileSizeLimit limit(4096);
    CHECK_THROWS_WITH_AS(weft::os::append(folder / "a", std::string(10000, 'x')),
                         doctest::Contains("/a\": File too large"), weft::Error);
  }
  CHECK(folder.read("a") == "first\n");
  weft::os::append(folder / "a", "second\n");
  CHECK(folder.read("a") == "first\nsecond\n");
}

TEST_CASE("os: reading and mapping") {
  const TemporaryFolder folder;
  std::string text(200000, '\0');
  for (std::size_t i = 0; i < text.size(); ++i) text[i] = static_cast<char>(i * 7);
  folder.write("a", text);
  folder.write("empty", "");
  CHECK(weft::os::read_file(folder / "a") == text);
  CHECK(weft::os::read_file(folder / "empty").empty());
  CHECK(weft::os::read_file("/proc/self/status").find("VmHWM") != std::string::npos);

  weft::os::MappedFile file = weft::os::map_file(folder / "a");
  REQUIRE(file.size == text.size());
  std::filesystem::remove(folder / "a");
  CHECK(std::string(reinterpret_cast<const char*>(file.data), file.size) == text);
  CHECK(weft::os::map_file(folder / "empty").size == 0);

  for (const std::string& path : {folder / "a", folder / "", std::string("/dev/zero"), std::string()}) {
    CAPTURE(path);
    CHECK_THROWS_AS(weft::os::read_file(path), weft::Error);
    CHECK_THROWS_AS(weft::os::map_file(path), weft::Error);
  }
  REQUIRE(::mkfifo((folder / "pipe").c_str(), 0600) == 0);
  CHECK_THROWS_WITH_AS(weft::os::map_file(folder / "pipe"), doctest::Contains("not a regular file"), weft::Error);
  std::thread writer([&] { std::ofstream(folder / "pipe") << "through"; });
  CHECK(weft::os::read_file(folder / "pipe") == "through");
  writer.join();
}

TEST_CASE("os: a file larger than memory is refused before memory is allocated") {
  const TemporaryFolder folder;
  folder.write("sparse", "x");
  std::error_code unsupported;
  std::filesystem::resize_file(folder / "sparse", std::uintmax_t{1} << 43, unsupported);
  if (unsupported) return;  // the file system does not support files of this size
  CHECK_THROWS_WITH_AS(weft::os::read_file(folder / "sparse"), doctest::Contains("Cannot allocate"), weft::Error);
}
