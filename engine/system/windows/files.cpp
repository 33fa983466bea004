// Reading files: mapped, at random offsets, or whole.
#include <algorithm>
#include <new>

#include "system/shared.h"
#include "system/windows/handle.h"
#include "weft/os.h"

namespace weft::os {

MappedFile map_file(const std::string& path) {
  const Handle opened(open_to_read(path));
  MappedFile file;
  file.size = size_of(opened.get(), path);
  if (file.size == 0) return file;  // an empty file can't be mapped
  const Handle mapping(::CreateFileMappingW(opened.get(), nullptr, PAGE_READONLY, 0, 0, nullptr));
  if (!mapping) fail("map", path);
  void* data = ::MapViewOfFile(mapping.get(), FILE_MAP_READ, 0, 0, 0);
  if (data == nullptr) fail("map", path);
  file.data = static_cast<const unsigned char*>(data);
  file.owner = std::shared_ptr<const void>(data, [](const void* view) { ::UnmapViewOfFile(view); });
  return file;
}

// Unlocking pages that are not locked removes them from the process's working set.
void forget_pages(const void* begin, std::size_t bytes) noexcept {
  if (bytes > 0) (void)::VirtualUnlock(const_cast<void*>(begin), bytes);
}

RandomAccessFile::RandomAccessFile(const std::string& path) : RandomAccessFile(path, value_of(open_to_read(path))) {}

RandomAccessFile::RandomAccessFile(const std::string& path, int open) : path_(path), descriptor_(open) {
  Handle file(handle_of(open));
  size_ = size_of(file.get(), path);
  (void)file.release();
}

RandomAccessFile::~RandomAccessFile() { ::CloseHandle(handle_of(descriptor_)); }

void RandomAccessFile::read(std::uint64_t offset, void* data, std::size_t bytes) const {
  for (std::size_t done = 0; done < bytes;) {
    const std::size_t count =
        read_at(handle_of(descriptor_), offset + done, static_cast<char*>(data) + done, bytes - done, path_);
    if (count == 0) throw Error("[file] \"" + path_ + "\" was truncated while it was being read");
    done += count;
  }
}

namespace {

// A pipe has no offsets. Its end is reported as an error.
std::string read_standard_input() {
  const HANDLE input = ::GetStdHandle(STD_INPUT_HANDLE);
  return read_to_end(0, [&](char* data, std::size_t bytes) -> std::size_t {
    DWORD count = 0;
    const auto most = static_cast<DWORD>(std::min(bytes, std::size_t{1} << 30));
    if (!::ReadFile(input, data, most, &count, nullptr) && ::GetLastError() != ERROR_BROKEN_PIPE)
      fail("read", "standard input");
    return count;
  });
}

}  // namespace

// "/dev/stdin" is standard input, as on other systems.
std::string read_file(const std::string& path) {
  if (path == "/dev/stdin") return read_standard_input();
  const Handle file(open_to_read(path));
  const std::uint64_t size = size_of(file.get(), path);
  if (size > physical_memory()) fail("read", path, ERROR_NOT_ENOUGH_MEMORY);
  try {
    std::uint64_t done = 0;
    return read_to_end(size, [&](char* data, std::size_t bytes) {
      const std::size_t got = read_at(file.get(), done, data, bytes, path);
      done += got;
      return got;
    });
  } catch (const std::bad_alloc&) {
    fail("read", path, ERROR_NOT_ENOUGH_MEMORY);
  }
}

}  // namespace weft::os
