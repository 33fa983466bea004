/// \file
/// What weft asks of the operating system; POSIX calls are in os.cpp alone.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#pragma GCC visibility push(default)
namespace weft::os {

/// min(CPUs that the calling thread may run on, or `cpus` if that is more; cgroup quota rounded up), at least 1
int available_threads(int cpus = 0) noexcept;
std::uint64_t physical_memory() noexcept;       ///< bytes: min(the machine's, cgroup limit)
std::uint64_t peak_resident_memory() noexcept;  ///< bytes of this process so far

constexpr std::size_t huge_page = std::size_t{2} << 20;  ///< bytes
/// Asks for pages of that size in a block that is aligned to one; nothing happens where the system has none.
void prefer_huge_pages(void* block, std::size_t bytes) noexcept;

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

/// Writes to a temporary file in path's folder; commit() syncs it and renames it to path. Without commit (an
/// exception, say) the temporary file is removed and path stays as it was. A symbolic link is followed. Errors name
/// path and reason; a full disk and a limit on file sizes are such.
class AtomicFile {
 public:
  /// Error if the temporary file can't be made.
  explicit AtomicFile(const std::string& path);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;
  /// Appends.
  void write(const void* data, std::size_t bytes);
  void commit();  ///< at most once

 private:
  std::string path_, temporary_;
  int descriptor_ = -1;
};

/// Removes from the folder what AtomicFiles of processes that were killed left there.
void remove_abandoned_files(const std::string& folder);

/// Reads a whole file or pipe; Error if it can't be read or doesn't fit into memory.
std::string read_file(const std::string& path);

bool is_terminal() noexcept;    ///< whether standard error is one
int terminal_width() noexcept;  ///< standard error's, in columns; 80 if unknown

}  // namespace weft::os
#pragma GCC visibility pop
