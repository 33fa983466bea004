#include "weft/os.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <new>
#include <sstream>
#include <system_error>

#include "system/cgroup.h"
#include "weft/error.h"

namespace weft::os {
namespace {

[[noreturn]] void fail(const char* what, const std::string& path, int error = errno) {
  throw Error(std::string("[file] can't ") + what + " \"" + path + "\": " + std::generic_category().message(error));
}

// Repeats a call that a signal interrupted.
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

 private:
  int value_;
};

// O_NONBLOCK: opening a pipe that nobody writes to would wait for ever; regular files ignore it.
int open_to_read(const std::string& path, int flags) {
  const int descriptor = uninterrupted([&] { return ::open(path.c_str(), O_RDONLY | O_CLOEXEC | flags); });
  if (descriptor < 0) fail("open", path);
  return descriptor;
}

struct stat status(int descriptor, const std::string& path) {
  struct stat s;
  if (::fstat(descriptor, &s) != 0) fail("look at", path);
  return s;
}

// Keeps SIGXFSZ, which a write beyond RLIMIT_FSIZE raises on its thread, from ending the process: the write then
// gives EFBIG.
class WithoutFileSizeSignal {
 public:
  WithoutFileSizeSignal() noexcept {
    sigemptyset(&signal_);
    sigaddset(&signal_, SIGXFSZ);
    pthread_sigmask(SIG_BLOCK, &signal_, &before_);
  }
  ~WithoutFileSizeSignal() {
    if (sigismember(&before_, SIGXFSZ) == 1) return;
    const timespec now{};
    while (sigtimedwait(&signal_, nullptr, &now) == -1 && errno == EINTR) {
    }
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  WithoutFileSizeSignal(const WithoutFileSizeSignal&) = delete;
  WithoutFileSizeSignal& operator=(const WithoutFileSizeSignal&) = delete;

 private:
  sigset_t signal_, before_;
};

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

// Temporary files are .weft-PROCESS-NUMBER.tmp: the number makes the name unique in this process, the process's in this
// machine, O_EXCL everywhere. Who writes one has it locked: the system lets go of the lock when the process ends, and
// knows it in containers too, where another process may have the same number.
std::atomic<unsigned> next_temporary{0};

bool is_temporary(const std::string& name) {
  return name.size() > 10 && name.rfind(".weft-", 0) == 0 && name.compare(name.size() - 4, 4, ".tmp") == 0;
}

// False if another one has it, or if it isn't known.
bool lock(int descriptor) noexcept {
  return uninterrupted([&] { return ::flock(descriptor, LOCK_EX | LOCK_NB); }) == 0;
}

bool is_file_of(int descriptor, const std::string& path) noexcept {
  struct stat open, named;
  return ::fstat(descriptor, &open) == 0 && ::stat(path.c_str(), &named) == 0 && open.st_ino == named.st_ino &&
         open.st_dev == named.st_dev;
}

// A new file that is locked, or -1. Between opening and locking, another process may take it for abandoned.
int create_temporary(const std::string& path, mode_t mode) noexcept {
  const int descriptor =
      uninterrupted([&] { return ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, mode); });
  if (descriptor < 0) return -1;
  (void)uninterrupted([&] { return ::flock(descriptor, LOCK_EX); });  // where there are no locks, go on without
  if (is_file_of(descriptor, path)) return descriptor;
  ::close(descriptor);
  errno = EEXIST;
  return -1;
}

void remove_if_abandoned(const std::string& path) noexcept {
  const int descriptor =
      uninterrupted([&] { return ::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK); });
  if (descriptor < 0) return;
  if (lock(descriptor) && is_file_of(descriptor, path)) ::unlink(path.c_str());
  ::close(descriptor);
}

// Linux writes at most 2^31 - 4096 bytes at a time and says how many.
void write_all(int descriptor, const void* data, std::size_t bytes, const std::string& path) {
  const WithoutFileSizeSignal guard;
  const char* next = static_cast<const char*>(data);
  while (bytes > 0) {
    const ssize_t written = uninterrupted([&] { return ::write(descriptor, next, bytes); });
    if (written < 0) fail("write", path);
    next += written;
    bytes -= static_cast<std::size_t>(written);
  }
}

std::string this_process() {
  char host[256] = "";
  ::gethostname(host, sizeof host - 1);
  return "process " + std::to_string(::getpid()) + " on " + host;
}

detail::CgroupLimits limits_of_this_process() noexcept {
  try {
    std::ifstream file("/proc/self/cgroup");
    std::ostringstream text;
    text << file.rdbuf();
    return detail::cgroup_limits(text.str(), "/sys/fs/cgroup");
  } catch (const std::exception&) {
    return {};
  }
}

// CPUs that the calling thread may run on; 0 if unknown. cpu_set_t holds 1024, machines may have more.
int affinity() noexcept {
  for (int capacity = 1024; capacity <= 1 << 20; capacity *= 2) {
    cpu_set_t* set = CPU_ALLOC(capacity);
    if (set == nullptr) return 0;
    const std::size_t bytes = CPU_ALLOC_SIZE(capacity);
    const bool known = sched_getaffinity(0, bytes, set) == 0;
    const int count = known ? CPU_COUNT_S(bytes, set) : 0;
    const int error = errno;
    CPU_FREE(set);
    if (known) return count;
    if (error != EINVAL) return 0;
  }
  return 0;
}

}  // namespace

int available_threads(int cpus) noexcept {
  int threads = std::max(affinity(), cpus);
  if (threads == 0) threads = static_cast<int>(::sysconf(_SC_NPROCESSORS_ONLN));
  const double quota = std::ceil(limits_of_this_process().cpus);
  if (quota < threads) threads = static_cast<int>(quota);
  return std::max(threads, 1);
}

std::uint64_t physical_memory() noexcept {
  const auto pages = static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES));
  const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGE_SIZE));
  return std::min(pages * page, limits_of_this_process().memory);
}

void prefer_huge_pages(void* block, std::size_t bytes) noexcept {
#ifdef MADV_HUGEPAGE
  (void)::madvise(block, bytes, MADV_HUGEPAGE);
#else
  (void)block, (void)bytes;
#endif
}

void small_pages_at_end(void* block, std::size_t bytes) noexcept {
#ifdef MADV_NOHUGEPAGE
  const std::uintptr_t end = reinterpret_cast<std::uintptr_t>(block) + bytes, begin = end / huge_page * huge_page;
  if (begin >= reinterpret_cast<std::uintptr_t>(block) && begin < end)
    (void)::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_NOHUGEPAGE);
#else
  (void)block, (void)bytes;
#endif
}

// Not getrusage: its figure includes what the process was before exec.
std::uint64_t peak_resident_memory() noexcept {
  try {
    std::ifstream file("/proc/self/status");
    for (std::string line; std::getline(file, line);)
      if (line.rfind("VmHWM:", 0) == 0) return std::strtoull(line.c_str() + 6, nullptr, 10) * 1024;
  } catch (const std::exception&) {
  }
  return 0;
}

MappedFile map_file(const std::string& path) {
  const Descriptor descriptor(open_to_read(path, O_NONBLOCK));
  const struct stat s = status(descriptor, path);
  if (!S_ISREG(s.st_mode)) throw Error("[file] can't map \"" + path + "\": not a regular file");
  MappedFile file;
  file.size = static_cast<std::uint64_t>(s.st_size);
  if (file.size == 0) return file;  // mmap refuses an empty range
  void* data = ::mmap(nullptr, file.size, PROT_READ, MAP_PRIVATE, descriptor, 0);
  if (data == MAP_FAILED) fail("map", path);
  file.data = static_cast<const unsigned char*>(data);
  file.owner = std::shared_ptr<const void>(data, [data, size = file.size](const void*) { ::munmap(data, size); });
  return file;
}

void forget_pages(const void* begin, std::size_t bytes) noexcept {
  static const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  const auto first = reinterpret_cast<std::uintptr_t>(begin) / page * page;
  const auto end = (reinterpret_cast<std::uintptr_t>(begin) + bytes + page - 1) / page * page;
  (void)::madvise(reinterpret_cast<void*>(first), end - first, MADV_DONTNEED);
}

RandomAccessFile::RandomAccessFile(const std::string& path) : path_(path) {
  descriptor_ = open_to_read(path, O_NONBLOCK);
  struct stat s;
  const int error = ::fstat(descriptor_, &s) != 0 ? errno : S_ISREG(s.st_mode) ? 0 : EINVAL;
  if (error != 0) {
    ::close(descriptor_);
    fail("open", path, error);
  }
  size_ = static_cast<std::uint64_t>(s.st_size);
}

RandomAccessFile::~RandomAccessFile() { ::close(descriptor_); }

void RandomAccessFile::read(std::uint64_t offset, void* data, std::size_t bytes) const {
  for (std::size_t done = 0; done < bytes;) {
    const ssize_t count = uninterrupted([&] {
      return ::pread(descriptor_, static_cast<char*>(data) + done, bytes - done, static_cast<off_t>(offset + done));
    });
    if (count < 0) fail("read", path_);
    if (count == 0) throw Error("[file] \"" + path_ + "\" has become shorter while it was read");
    done += static_cast<std::size_t>(count);
  }
}

AtomicFile::AtomicFile(const std::string& path) : path_(path) {
  if (path.empty()) fail("write", path, ENOENT);
  struct stat old;
  const bool exists = ::stat(path.c_str(), &old) == 0;
  if (exists && !S_ISREG(old.st_mode)) throw Error("[file] can't write \"" + path + "\": not a regular file");
  if (exists) {
    const std::unique_ptr<char, decltype(&std::free)> target(::realpath(path.c_str(), nullptr), &std::free);
    if (!target) fail("write", path);
    path_ = target.get();
  }
  const std::string prefix = folder_of(path_) + "/.weft-" + std::to_string(::getpid()) + "-";
  for (int attempt = 0; descriptor_ < 0; ++attempt) {
    temporary_ = prefix + std::to_string(next_temporary++) + ".tmp";
    descriptor_ = create_temporary(temporary_, exists ? 0600 : 0666);
    if (descriptor_ < 0 && (errno != EEXIST || attempt == 1000)) fail("write", path);
  }
  if (exists) (void)::fchmod(descriptor_, old.st_mode & 07777);
}

AtomicFile::~AtomicFile() {
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
  if (descriptor_ >= 0) ::close(descriptor_);
}

void AtomicFile::write(const void* data, std::size_t bytes) {
  if (descriptor_ < 0) throw Error("[file] can't write \"" + path_ + "\": already committed");
  write_all(descriptor_, data, bytes, path_);
}

void AtomicFile::commit() {
  if (descriptor_ < 0) throw Error("[file] can't write \"" + path_ + "\": already committed");
  if (uninterrupted([&] { return ::fsync(descriptor_); }) != 0) fail("write", path_);
  const std::string folder = folder_of(path_);
  const Descriptor descriptor(open_to_read(folder, O_DIRECTORY));
  if (std::rename(temporary_.c_str(), path_.c_str()) != 0) fail("write", path_);
  temporary_.clear();
  ::close(descriptor_);  // and with it the lock, which the temporary file needs no longer
  descriptor_ = -1;
  // The folder's entry too: some file systems can't sync folders (EINVAL).
  if (uninterrupted([&] { return ::fsync(descriptor); }) != 0 && errno != EINVAL) fail("sync the folder of", path_);
}

void append(const std::string& path, const std::string& text) {
  const Descriptor descriptor(uninterrupted(
      [&] { return ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK, 0666); }));
  if (descriptor < 0) fail("write", path);
  const struct stat before = status(descriptor, path);
  if (!S_ISREG(before.st_mode)) throw Error("[file] can't write \"" + path + "\": not a regular file");
  try {
    write_all(descriptor, text.data(), text.size(), path);
  } catch (const Error&) {
    (void)!::ftruncate(descriptor, before.st_size);
    throw;
  }
}

void remove_abandoned_files(const std::string& folder) {
  std::error_code ignored;
  for (std::filesystem::directory_iterator entry(folder, ignored), end; entry != end; entry.increment(ignored))
    if (entry->is_regular_file(ignored) && is_temporary(entry->path().filename().string()))
      remove_if_abandoned(entry->path().string());
}

FolderLock::FolderLock(const std::string& folder) {
  const std::string path = folder + "/.lock";
  descriptor_ = uninterrupted([&] { return ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666); });
  if (descriptor_ < 0) fail("lock", folder);
  if (!lock(descriptor_) && errno == EWOULDBLOCK) {
    char holder[512];
    const ssize_t size = uninterrupted([&] { return ::pread(descriptor_, holder, sizeof holder, 0); });
    ::close(descriptor_);
    const std::string who = size > 0 ? std::string(holder, static_cast<std::size_t>(size)) : "another process";
    throw Error("\"" + folder + "\" is in use: " + who + " trains into it");
  }
  const std::string who = this_process();
  (void)!::ftruncate(descriptor_, 0);  // a disk that is full keeps nobody out
  (void)!::pwrite(descriptor_, who.data(), who.size(), 0);
}

FolderLock::~FolderLock() {
  (void)!::ftruncate(descriptor_, 0);
  ::close(descriptor_);
}

std::string read_file(const std::string& path) {
  const Descriptor descriptor(open_to_read(path, 0));
  const struct stat s = status(descriptor, path);
  if (!S_ISREG(s.st_mode) && !S_ISFIFO(s.st_mode))
    throw Error("[file] can't read \"" + path + "\": neither a regular file nor a pipe");
  if (static_cast<std::uint64_t>(s.st_size) > physical_memory()) fail("read", path, ENOMEM);
  try {
    // Files of /proc say they are empty, and any file may grow: read until the end comes.
    std::string text;
    std::size_t size = 0, room = static_cast<std::size_t>(s.st_size) + 1;
    for (;;) {
      text.resize(size + room);
      const ssize_t got = uninterrupted([&] { return ::read(descriptor, text.data() + size, room); });
      if (got < 0) fail("read", path);
      size += static_cast<std::size_t>(got);
      text.resize(size);
      if (got == 0) return text;
      room = std::max<std::size_t>(size / 2, 1 << 16);
    }
  } catch (const std::bad_alloc&) {
    fail("read", path, ENOMEM);
  }
}

void say_from_signal_handler(const char* line) noexcept {
  const int error = errno;
  (void)!::write(STDERR_FILENO, line, std::strlen(line));
  errno = error;
}

void open_standard_streams() {
  const std::string nothing = "/dev/null";
  for (int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (::fcntl(stream, F_GETFD) == -1 && errno == EBADF) {
      const int opened = ::open(nothing.c_str(), stream == STDIN_FILENO ? O_WRONLY : O_RDONLY);
      if (opened != stream) fail("open", nothing);  // the lowest number that is free
    }
}

bool is_terminal() noexcept { return ::isatty(STDERR_FILENO) == 1; }

int terminal_width() noexcept {
  struct winsize size;
  return ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

}  // namespace weft::os
