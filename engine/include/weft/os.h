/// \file
/// What weft asks of the operating system; its POSIX calls are in engine/system/ alone.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#pragma GCC visibility push(default)
namespace weft::os {

/// min(CPUs that the calling thread may run on, or `cpus` if that is more; cgroup quota rounded up), at least 1
int available_threads(int cpus = 0) noexcept;
std::int64_t second_cache() noexcept;           ///< bytes of a core's L2; 512 KiB if the system doesn't say
std::uint64_t physical_memory() noexcept;       ///< bytes: min(the machine's, cgroup limit)
std::uint64_t peak_resident_memory() noexcept;  ///< bytes of this process so far

/// The program's file and, if weft's library is one of its own, that. Empty where the system doesn't say.
std::vector<std::string> program_files();

constexpr std::size_t huge_page = std::size_t{2} << 20;  ///< bytes
/// Pages that are no part of the heap, huge ones where the system has them, from an address that is a multiple of theirs. Null
/// if there is no memory.
void* map_pages(std::size_t bytes) noexcept;
void unmap_pages(void* block, std::size_t bytes) noexcept;  ///< gives them back
/// No huge page for the end of a block that fills none: what is there to stay should take no more than it needs.
void small_pages_at_end(void* block, std::size_t bytes) noexcept;

/// A read-only mapping of a whole file, unmapped with the last handle. The file may be replaced or removed meanwhile,
/// but not be cut or written in place.
struct MappedFile {
  std::shared_ptr<const void> owner;    ///< keeps the mapping
  const unsigned char* data = nullptr;  ///< the first byte
  std::uint64_t size = 0;               ///< bytes
};
MappedFile map_file(const std::string& path);  ///< Error if it can't be opened or is not a regular file
/// These bytes of a mapped file, rounded to pages, leave the process's memory until they are read again.
void forget_pages(const void* begin, std::size_t bytes) noexcept;

/// A regular file that is read here and there; it may be renamed or removed meanwhile. Threads may share it.
class RandomAccessFile {
 public:
  explicit RandomAccessFile(const std::string& path);  ///< Error if it can't be opened or is not a regular file
  ~RandomAccessFile();
  RandomAccessFile(const RandomAccessFile&) = delete;
  RandomAccessFile& operator=(const RandomAccessFile&) = delete;
  std::uint64_t size() const noexcept { return size_; }  ///< bytes, when it was opened
  /// Error if it has become shorter.
  void read(std::uint64_t offset, void* data, std::size_t bytes) const;

 private:
  friend class TemporaryFile;
  RandomAccessFile(const std::string& path, int descriptor);  // which it closes

  std::string path_;
  int descriptor_;
  std::uint64_t size_;
};

/// Writes to a temporary file in path's folder; commit() syncs it and renames it to path. Without commit (an
/// exception, say) the temporary file is removed and path stays as it was. A symbolic link is followed unless `follow` is false, by which it is replaced itself. Errors name
/// path and reason; a full disk and a limit on file sizes are such.
class AtomicFile {
 public:
  /// Error if the temporary file can't be made.
  explicit AtomicFile(const std::string& path, bool follow = true);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;
  /// Appends.
  void write(const void* data, std::size_t bytes);
  void sync();    ///< what was written is on the disk: commit() will not fail for want of room
  void commit();  ///< at most once

 private:
  std::string path_, temporary_;
  int descriptor_ = -1;
  bool synced_ = false;
};

/// What doesn't fit into memory: a file of this process alone, without a name, which is gone with its last handle or with the
/// process. Until it has lost its name nobody can foresee that, and nobody else can read it.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& folder);  ///< Error if it can't be made
  ~TemporaryFile();
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  void write(const void* data, std::size_t bytes);  ///< appends
  /// What was written; then no more is.
  std::shared_ptr<const RandomAccessFile> finished();

 private:
  std::string folder_;
  int descriptor_ = -1;
};

/// Appends the text to a regular file, which is made if it is missing: all of it or, with an Error, nothing.
void append(const std::string& path, const std::string& text);

/// Removes from the folder what AtomicFiles of processes that were killed left there: those that no process has locked,
/// whether or not this one can see it (containers).
void remove_abandoned_files(const std::string& folder);

/// A lock on a folder, which one process has at a time and loses when it ends, however it does: an flock of the file
/// ".lock" in it, which names its holder. Where the file system has no locks, nobody is kept out.
class FolderLock {
 public:
  /// Error, naming the holder, if another one has it; Error if the file can't be written, or is a link. What a lock hasn't
  /// written there stays as it is.
  explicit FolderLock(const std::string& folder);
  ~FolderLock();
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  int descriptor_;
};

/// Reads a whole file or pipe; Error if it can't be read or doesn't fit into memory.
std::string read_file(const std::string& path);

}  // namespace weft::os
#pragma GCC visibility pop
