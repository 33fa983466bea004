// What Emscripten reports about the machine, and memory. WebAssembly has one linear memory and no pages to map.
#include <emscripten/heap.h>
#include <malloc.h>

#include <algorithm>
#include <cstdlib>

#include "system/heap.h"
#include "system/priority.h"
#include "weft/os.h"

namespace weft::os {

int available_threads(int cpus) noexcept { return std::max(cpus, 1); }

// The size of the cache is unknown.
std::int64_t second_cache() noexcept { return std::int64_t{512} << 10; }

// The memory never shrinks, so its size is the peak.
std::uint64_t physical_memory() noexcept { return ::emscripten_get_heap_max(); }
std::uint64_t peak_resident_memory() noexcept { return ::emscripten_get_heap_size(); }

// WebAssembly can't change a thread's priority.
void lower_thread_priority() noexcept {}
int inherited_priority() noexcept { return 0; }

std::vector<std::string> program_files() { return {}; }

void* heap_block(std::size_t bytes) noexcept { return std::aligned_alloc(64, bytes); }
void free_heap_block(void* block) noexcept { std::free(block); }

// There are no huge pages, but callers rely on the alignment.
void* map_pages(std::size_t bytes) noexcept {
  if (bytes > SIZE_MAX - 2 * huge_page) return nullptr;
  return ::memalign(huge_page, bytes);
}

void unmap_pages(void* block, std::size_t) noexcept { std::free(block); }

void small_pages_at_end(void*, std::size_t) noexcept {}

}  // namespace weft::os
