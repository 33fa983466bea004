// Pages of memory that are outside of the heap, and blocks in the heap.
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>

#include "system/heap.h"
#include "weft/os.h"

namespace weft::os {

void* heap_block(std::size_t bytes) noexcept { return std::aligned_alloc(64, bytes); }
void free_heap_block(void* block) noexcept { std::free(block); }

namespace {

std::size_t whole_pages(std::size_t bytes) noexcept {
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGE_SIZE));
  return (bytes + page - 1) / page * page;
}

}  // namespace

// Maps more than `bytes` so that the block can begin at a multiple of the huge page size. Then unmaps the excess before
// and after the block.
void* map_pages(std::size_t bytes) noexcept {
  if (bytes > SIZE_MAX - 2 * huge_page) return nullptr;
  const std::size_t size = whole_pages(bytes);
  void* const mapped = ::mmap(nullptr, size + huge_page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) return nullptr;
  char* const all = static_cast<char*>(mapped);
  const std::size_t before = (huge_page - reinterpret_cast<std::uintptr_t>(all) % huge_page) % huge_page;
  char* const block = all + before;
  if (before > 0) (void)::munmap(all, before);
  (void)::munmap(block + size, huge_page - before);
#ifdef MADV_HUGEPAGE
  (void)::madvise(block, size, MADV_HUGEPAGE);
#endif
  return block;
}

void unmap_pages(void* block, std::size_t bytes) noexcept { (void)::munmap(block, whole_pages(bytes)); }

void small_pages_at_end(void* block, std::size_t bytes) noexcept {
#ifdef MADV_NOHUGEPAGE
  const std::uintptr_t end = reinterpret_cast<std::uintptr_t>(block) + bytes, begin = end / huge_page * huge_page;
  if (begin >= reinterpret_cast<std::uintptr_t>(block) && begin < end)
    (void)::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_NOHUGEPAGE);
#else
  (void)block, (void)bytes;
#endif
}

}  // namespace weft::os
