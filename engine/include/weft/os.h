/// \file
/// The operating system services that weft uses. engine/system/ has a folder for each system that implements them.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "weft/visibility.h"

WEFT_PUBLIC_BEGIN
namespace weft::os {

/// The number of CPUs that the calling thread may run on, or `cpus` if `cpus` is greater. The result is at most the CPU
/// quota of the control group, rounded up, and at least 1.
int available_threads(int cpus = 0) noexcept;
/// The size of a core's L2 cache in bytes, or 512 KiB if the system does not report it.
std::int64_t second_cache() noexcept;
std::uint64_t physical_memory() noexcept;       ///< bytes: the machine's memory or the cgroup limit, whichever is less
std::uint64_t peak_resident_memory() noexcept;  ///< peak resident memory of this process so far, in bytes

/// Gives the calling thread less CPU time than the threads with which it competes. On Linux, this also applies to the
/// threads that it starts later. Has no effect if the system has no such setting.
void lower_thread_priority() noexcept;

/// The paths of the program and, if weft is a shared library, of the library. The list is empty if the system does not
/// report them.
std::vector<std::string> program_files();

constexpr std::size_t huge_page = std::size_t{2} << 20;  ///< bytes
/// Maps pages outside of the heap and uses huge pages if the system supports them. The address is a multiple of the
/// size of a huge page. Returns null if there is not enough memory.
void* map_pages(std::size_t bytes) noexcept;
void unmap_pages(void* block, std::size_t bytes) noexcept;  ///< unmaps pages from map_pages(bytes)
/// If the end of a block fills a huge page only partly, uses small pages for this end. A long-lived block then takes no
/// more memory than it needs.
void small_pages_at_end(void* block, std::size_t bytes) noexcept;

/// A read-only mapping of a whole file. The file is unmapped when the last copy of `owner` is destroyed. While it is
/// mapped, the file may be replaced or removed, but it must not be truncated or written in place.
struct MappedFile {
  std::shared_ptr<const void> owner;    ///< keeps the mapping alive
  const unsigned char* data = nullptr;  ///< the first byte
  std::uint64_t size = 0;               ///< size in bytes
};
MappedFile map_file(const std::string& path);  ///< Error if the file can't be mapped or is not a regular file
/// Drops the pages that contain these bytes of a mapped file from the process's memory. The system reads them from the
/// file again when they are needed.
void forget_pages(const void* begin, std::size_t bytes) noexcept;

/// A regular file that is open for reads at any offset. The file may be renamed or removed while it is open.
/// Thread-safe.
class RandomAccessFile {
 public:
  explicit RandomAccessFile(const std::string& path);  ///< Error if the file can't be opened or is not regular
  ~RandomAccessFile();
  RandomAccessFile(const RandomAccessFile&) = delete;
  RandomAccessFile& operator=(const RandomAccessFile&) = delete;
  std::uint64_t size() const noexcept { return size_; }       ///< size in bytes when the file was opened
  const std::string& path() const noexcept { return path_; }  ///< the path with which the file was opened
  /// Reads `bytes` bytes at `offset` into `data`. Error if the file has become shorter.
  void read(std::uint64_t offset, void* data, std::size_t bytes) const;

 private:
  friend class TemporaryFile;
  RandomAccessFile(const std::string& path, int descriptor);  // closes the descriptor

  std::string path_;
  int descriptor_;
  std::uint64_t size_;
};

/// Writes a file atomically: write() appends to a temporary file in the folder of `path`, and commit() syncs that file
/// and renames it to `path`. If commit() is not called, for example after an exception, the destructor removes the
/// temporary file, and the file at `path` stays unchanged. If `path` is a symbolic link, commit() replaces the link's
/// target, or the link itself if `follow` is false. Error messages name the path and the reason, such as a full disk or
/// a limit on file sizes.
class AtomicFile {
 public:
  /// Error if the temporary file can't be created.
  explicit AtomicFile(const std::string& path, bool follow = true);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;
  /// Appends the bytes to the temporary file.
  void write(const void* data, std::size_t bytes);
  void sync();    ///< forces the data to disk, so that commit() can't fail for lack of space
  void commit();  ///< replaces the file at `path`; call this at most once

 private:
  std::string path_, temporary_;
  int descriptor_ = -1;
  bool synced_ = false;
};

/// A private file for data that does not fit into memory. The file disappears when the last object that refers to it is
/// destroyed or the process ends. The constructor removes the file's name immediately after it creates the file. Until
/// then, the name can't be predicted, and other users can't read the file. On Windows the file keeps its name, but
/// nobody else can open it.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& folder);  ///< Error if the file can't be created
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

/// Appends the text to a regular file, which is created if it is missing. After an Error, the file has its previous
/// contents.
void append(const std::string& path, const std::string& text);

/// Removes the temporary files that AtomicFiles of killed processes left in the folder. These are the temporary files
/// that no process has locked or, on Windows, open. This check also recognizes the files of processes in other
/// containers, although this process can't see those processes.
void remove_abandoned_files(const std::string& folder);

/// An exclusive lock on a folder. Only one process can hold the lock at a time. When that process ends, even if it is
/// killed, the system releases the lock. The lock is one on the file ".lock" in the folder. This file names the
/// process that holds the lock. On a file system without locks, FolderLock does not exclude other processes.
class FolderLock {
 public:
  /// Error if another process holds the lock. The message names that process. Error if the file ".lock" can't be opened
  /// for writing or is a symbolic link. If the file has contents that no FolderLock wrote, they stay unchanged.
  explicit FolderLock(const std::string& folder);
  ~FolderLock();
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  int descriptor_;
};

/// Reads a whole file or pipe. Error if it can't be read or is too large for the memory.
std::string read_file(const std::string& path);

}  // namespace weft::os
WEFT_PUBLIC_END
