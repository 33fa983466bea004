/// \file
/// The operating system services that weft uses. Only engine/system/ makes POSIX calls.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#pragma GCC visibility push(default)
namespace weft::os {

/// The number of CPUs that the calling thread may run on (or `cpus` if that is greater), limited by the cgroup quota
/// (rounded up). At least 1.
int available_threads(int cpus = 0) noexcept;
/// The size of a core's L2 cache in bytes, or 512 KiB if the system does not report it.
std::int64_t second_cache() noexcept;
std::uint64_t physical_memory() noexcept;       ///< bytes: minimum of the machine's memory and the cgroup limit
std::uint64_t peak_resident_memory() noexcept;  ///< peak resident memory of this process so far, in bytes

/// The file of the program and, if weft is a shared library, the file of the library. Empty if the system does not
/// report it.
std::vector<std::string> program_files();

constexpr std::size_t huge_page = std::size_t{2} << 20;  ///< bytes
/// Maps pages outside of the heap, huge pages if the system has them. The address is a multiple of the size of a huge
/// page. Null if there is no memory.
void* map_pages(std::size_t bytes) noexcept;
void unmap_pages(void* block, std::size_t bytes) noexcept;  ///< unmaps pages from map_pages(bytes)
/// Uses small pages for the end of a block that does not fill a huge page. A long-lived block then takes no more memory
/// than it needs.
void small_pages_at_end(void* block, std::size_t bytes) noexcept;

/// A read-only mapping of a whole file, unmapped with the last handle. The file may be replaced or removed meanwhile,
/// but must not be truncated or written in place.
struct MappedFile {
  std::shared_ptr<const void> owner;    ///< keeps the mapping alive
  const unsigned char* data = nullptr;  ///< the first byte
  std::uint64_t size = 0;               ///< size in bytes
};
MappedFile map_file(const std::string& path);  ///< Error if it can't be opened or is not a regular file
/// Drops these bytes of a mapped file, rounded to pages, from the process's memory until they are read again.
void forget_pages(const void* begin, std::size_t bytes) noexcept;

/// A regular file for reads at any offset. It may be renamed or removed meanwhile. Thread-safe.
class RandomAccessFile {
 public:
  explicit RandomAccessFile(const std::string& path);  ///< Error if it can't be opened or is not a regular file
  ~RandomAccessFile();
  RandomAccessFile(const RandomAccessFile&) = delete;
  RandomAccessFile& operator=(const RandomAccessFile&) = delete;
  std::uint64_t size() const noexcept { return size_; }  ///< size in bytes when it was opened
  /// Reads `bytes` bytes at `offset` into `data`. Error if the file has become shorter.
  void read(std::uint64_t offset, void* data, std::size_t bytes) const;

 private:
  friend class TemporaryFile;
  RandomAccessFile(const std::string& path, int descriptor);  // closes the descriptor

  std::string path_;
  int descriptor_;
  std::uint64_t size_;
};

/// Writes to a temporary file in the folder of `path`. commit() syncs that file and renames it to `path`. Without
/// commit (after an exception, for example) the temporary file is removed and `path` stays unchanged. A symbolic link
/// is followed; with `follow` false the link itself is replaced. Errors name path and reason, including a full disk and
/// a limit on file sizes.
class AtomicFile {
 public:
  /// Error if the temporary file can't be made.
  explicit AtomicFile(const std::string& path, bool follow = true);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;
  /// Appends the bytes to the temporary file.
  void write(const void* data, std::size_t bytes);
  void sync();    ///< forces the written data to the disk; commit() cannot then fail for lack of space
  void commit();  ///< replaces `path` by the file; call it at most once

 private:
  std::string path_, temporary_;
  int descriptor_ = -1;
  bool synced_ = false;
};

/// Holds data that does not fit into memory: a private file without a name, which disappears with its last handle or
/// with the process. Until its name is removed, nobody can predict the name and no other user can read the file.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& folder);  ///< Error if it can't be made
  ~TemporaryFile();
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  void write(const void* data, std::size_t bytes);  ///< appends
  /// Returns the file for reading. Nothing can be written afterwards.
  std::shared_ptr<const RandomAccessFile> finished();

 private:
  std::string folder_;
  int descriptor_ = -1;
};

/// Appends the text to a regular file, which is created if it is missing. Either all of it is appended or, with an
/// Error, nothing.
void append(const std::string& path, const std::string& text);

/// Removes files that AtomicFiles of killed processes left in the folder. These are the files that no process has
/// locked, including processes that this one cannot see (containers).
void remove_abandoned_files(const std::string& folder);

/// An exclusive lock on a folder. One process holds it at a time and loses it when it ends, however it ends. The lock
/// is an flock on the file ".lock" in the folder; the file names the lock's holder. On a file system without locks it
/// excludes nobody.
class FolderLock {
 public:
  /// Error, naming the holder, if another process holds it. Error if the file can't be written or is a link. Contents
  /// of the file that were not written by a lock stay unchanged.
  explicit FolderLock(const std::string& folder);
  ~FolderLock();
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  int descriptor_;
};

/// Reads a whole file or pipe. Error if it can't be read or doesn't fit into memory.
std::string read_file(const std::string& path);

}  // namespace weft::os
#pragma GCC visibility pop
