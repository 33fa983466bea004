// Reading files: mapped, at random offsets, or whole.
#include <sys/mman.h>

#include <new>

#include "system/posix/descriptor.h"
#include "system/shared.h"
#include "weft/os.h"

namespace weft::os {

MappedFile map_file(const std::string& path) {
  const Descriptor descriptor(open_to_read(path, O_NONBLOCK));
  const struct stat s = status(descriptor, path);
  if (!S_ISREG(s.st_mode)) throw Error("[file] can't map \"" + path + "\": not a regular file");
  MappedFile file;
  file.size = static_cast<std::uint64_t>(s.st_size);
  if (file.size == 0) return file;                                                 // mmap refuses an empty range
  if (static_cast<std::size_t>(file.size) != file.size) fail("map", path, EFBIG);  // a process of 32 bits
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

RandomAccessFile::RandomAccessFile(const std::string& path) : RandomAccessFile(path, open_to_read(path, O_NONBLOCK)) {}

RandomAccessFile::RandomAccessFile(const std::string& path, int open) : path_(path) {
  Descriptor descriptor(open);
  const struct stat s = status(descriptor, path);
  if (!S_ISREG(s.st_mode)) fail("open", path, EINVAL);
  size_ = static_cast<std::uint64_t>(s.st_size);
  descriptor_ = descriptor.release();
}

RandomAccessFile::~RandomAccessFile() { ::close(descriptor_); }

void RandomAccessFile::read(std::uint64_t offset, void* data, std::size_t bytes) const {
  for (std::size_t done = 0; done < bytes;) {
    const ssize_t count = uninterrupted([&] {
      return ::pread(descriptor_, static_cast<char*>(data) + done, bytes - done, static_cast<off_t>(offset + done));
    });
    if (count < 0) fail("read", path_);
    if (count == 0) throw Error("[file] \"" + path_ + "\" was truncated while it was being read");
    done += static_cast<std::size_t>(count);
  }
}

std::string read_file(const std::string& path) {
  const Descriptor descriptor(open_to_read(path, 0));
  const struct stat s = status(descriptor, path);
  if (!S_ISREG(s.st_mode) && !S_ISFIFO(s.st_mode))
    throw Error("[file] can't read \"" + path + "\": neither a regular file nor a pipe");
  if (static_cast<std::uint64_t>(s.st_size) > physical_memory()) fail("read", path, ENOMEM);
  try {
    // Files in /proc report size 0.
    return read_to_end(static_cast<std::uint64_t>(s.st_size), [&](char* data, std::size_t bytes) {
      const ssize_t got = uninterrupted([&] { return ::read(descriptor, data, bytes); });
      if (got < 0) fail("read", path);
      return static_cast<std::size_t>(got);
    });
  } catch (const std::bad_alloc&) {
    fail("read", path, ENOMEM);
  }
}

}  // namespace weft::os
