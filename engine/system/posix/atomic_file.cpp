// Files that are written atomically, and locks that only one process at a time can hold.
#include <pthread.h>
#include <signal.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <utility>

#include "system/posix/temporary.h"
#include "weft/os.h"

namespace weft::os {
namespace {

// Prevents SIGXFSZ from ending the process. A write beyond RLIMIT_FSIZE raises this signal on the writing thread. While
// this object exists, the write fails with EFBIG instead.
class WithoutFileSizeSignal {
 public:
  WithoutFileSizeSignal() noexcept {
    sigemptyset(&signal_);
    sigaddset(&signal_, SIGXFSZ);
    pthread_sigmask(SIG_BLOCK, &signal_, &before_);
  }
  ~WithoutFileSizeSignal() {
    if (sigismember(&before_, SIGXFSZ) == 1) return;
#ifdef __APPLE__  // has no sigtimedwait
    sigset_t pending;
    if (int number = 0; sigpending(&pending) == 0 && sigismember(&pending, SIGXFSZ) == 1) sigwait(&signal_, &number);
#else
    const timespec now{};
    while (sigtimedwait(&signal_, nullptr, &now) == -1 && errno == EINTR) {
    }
#endif
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

// O_EXCL makes the name of a temporary file unique among all processes. This number makes it unique within the process.
std::atomic<unsigned> next_temporary{0};

// Creates and locks a new file. Returns its descriptor, or -1.
int create_temporary(const std::string& path, mode_t mode) noexcept {
  const int descriptor =
      uninterrupted([&] { return ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, mode); });
  if (descriptor < 0) return -1;
  if (lock_new(descriptor, path)) return descriptor;
  ::close(descriptor);
  errno = EEXIST;
  return -1;
}

void remove_if_abandoned(const std::string& path) noexcept {
  const int descriptor =
      uninterrupted([&] { return ::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK); });
  if (descriptor < 0) return;
  if (try_lock(descriptor) && is_named(descriptor, path)) ::unlink(path.c_str());
  ::close(descriptor);
}

// Linux writes at most 2^31 - 4096 bytes per call and returns the number of bytes written.
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
  return process_name(static_cast<std::uint64_t>(::getpid()), host);
}

// Returns the contents of a lock file: the name of a process, or "". Returns nothing if the file can't be read, has a
// second hard link or has other contents. A file with a second hard link or other contents does not belong to weft.
std::optional<std::string> holder_in(int descriptor) noexcept {
  struct stat s;
  if (::fstat(descriptor, &s) != 0 || s.st_nlink > 1) return std::nullopt;
  char text[512];
  const ssize_t size = uninterrupted([&] { return ::pread(descriptor, text, sizeof text, 0); });
  if (size < 0) return std::nullopt;
  const std::string holder(text, static_cast<std::size_t>(size));
  return is_holder(holder) ? std::optional(holder) : std::nullopt;
}

}  // namespace

AtomicFile::AtomicFile(const std::string& path, bool follow) : path_(path) {
  if (path.empty()) fail("write", path, ENOENT);
  struct stat old;
  const bool exists =
      follow ? ::stat(path.c_str(), &old) == 0 : ::lstat(path.c_str(), &old) == 0 && !S_ISLNK(old.st_mode);
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
  if (descriptor_ < 0) throw Error("[file] can't write \"" + path_ + "\": the file is already committed");
  synced_ = false;
  write_all(descriptor_, data, bytes, path_);
}

void AtomicFile::sync() {
  if (descriptor_ < 0) throw Error("[file] can't write \"" + path_ + "\": the file is already committed");
  if (!synced_ && uninterrupted([&] { return ::fsync(descriptor_); }) != 0) fail("write", path_);
  synced_ = true;
}

void AtomicFile::commit() {
  sync();
  const std::string folder = folder_of(path_);
  const Descriptor descriptor(open_to_read(folder, O_DIRECTORY));
  if (std::rename(temporary_.c_str(), path_.c_str()) != 0) fail("write", path_);
  temporary_.clear();
  ::close(descriptor_);  // this also releases the lock, which the temporary file no longer needs
  descriptor_ = -1;
  // Syncs the file's entry in the folder, too. Some file systems can't sync folders (EINVAL).
  if (uninterrupted([&] { return ::fsync(descriptor); }) != 0 && errno != EINVAL) fail("sync the folder of", path_);
}

TemporaryFile::TemporaryFile(const std::string& folder) : folder_(folder) {
  std::string path = folder + "/.weft-XXXXXX";
  descriptor_ = ::mkostemp(path.data(), O_CLOEXEC);  // exclusive, mode 0600
  if (descriptor_ < 0) fail("write a temporary file in", folder);
  (void)::unlink(path.c_str());
}

TemporaryFile::~TemporaryFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

void TemporaryFile::write(const void* data, std::size_t bytes) {
  write_all(descriptor_, data, bytes, folder_ + "/(temporary file)");
}

std::shared_ptr<const RandomAccessFile> TemporaryFile::finished() {
  return std::shared_ptr<const RandomAccessFile>(
      new RandomAccessFile(folder_ + "/(temporary file)", std::exchange(descriptor_, -1)));
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
  Descriptor descriptor(uninterrupted(
      [&] { return ::open(path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0666); }));
  if (descriptor < 0 && errno != ELOOP) fail("lock", folder);
  if (descriptor < 0 || !S_ISREG(status(descriptor, path).st_mode))
    throw Error("[file] can't lock \"" + folder + "\": expected \"" + path + "\" to be a regular file, got " +
                (descriptor < 0 ? "a symbolic link" : "another kind of file"));
  if (!try_lock(descriptor) && errno == EWOULDBLOCK) {
    const std::string holder = holder_in(descriptor).value_or("");
    throw Error("\"" + folder + "\" is in use by " + (holder.empty() ? "another process" : holder));
  }
  if (holder_in(descriptor)) {  // locking must work even if the disk is full
    const std::string who = this_process();
    const WithoutFileSizeSignal guard;
    (void)!::ftruncate(descriptor, 0);
    (void)!::pwrite(descriptor, who.data(), who.size(), 0);
  }
  descriptor_ = descriptor.release();
}

FolderLock::~FolderLock() {
  if (holder_in(descriptor_)) (void)!::ftruncate(descriptor_, 0);
  ::close(descriptor_);
}

}  // namespace weft::os
