#include "weft/memory.h"

#include <algorithm>
#include <cstdlib>
#include <string>

#include "weft/error.h"
#include "weft/os.h"

namespace weft {
namespace {

// Large blocks lie on huge pages, but for what is left of them at the end: a tensor's rows may be pages apart, and the
// processor remembers few of them. Null if there is no memory.
void* system_block(std::size_t size) {
  if (size < os::huge_page) return std::aligned_alloc(64, size);
  void* block = std::aligned_alloc(os::huge_page, (size + os::huge_page - 1) / os::huge_page * os::huge_page);
  if (block != nullptr) os::prefer_huge_pages(block, size);
  return block;
}

}  // namespace

// Classes are 2^k · {4, 5, 6, 7} / 4: at most a quarter of a block is unused.
std::size_t MemoryCache::size_class(std::size_t bytes) noexcept {
  std::size_t power = 256;
  if (bytes <= power) return power;
  while (power <= bytes / 2) power *= 2;
  const std::size_t step = power / 4;
  return (bytes + step - 1) / step * step;
}

MemoryCache::MemoryCache() : cap_(std::min<std::size_t>(std::size_t{2} << 30, os::physical_memory() / 4)) {}
MemoryCache::~MemoryCache() { trim(); }

void* MemoryCache::allocate(std::size_t bytes) {
  static const std::uint64_t limit = os::physical_memory();
  if (bytes > limit)
    throw Error("[memory] " + std::to_string(bytes) + " bytes asked for, the machine has " + std::to_string(limit));
  const std::size_t size = size_class(bytes);
  {
    std::lock_guard<std::mutex> lock(mutex_);
    auto found = free_.find(size);
    if (found != free_.end() && !found->second.blocks.empty()) {
      void* block = found->second.blocks.back();
      found->second.blocks.pop_back();
      found->second.last_use = ++uses_;
      use_.cached -= size;
      use_.current += size;
      use_.peak = std::max(use_.peak, use_.current);
      return block;
    }
  }
  void* block = system_block(size);
  if (block == nullptr) {
    trim();
    block = system_block(size);
  }
  if (block == nullptr) throw Error("[memory] out of memory: " + std::to_string(bytes) + " bytes asked for");
  std::lock_guard<std::mutex> lock(mutex_);
  use_.current += size;
  use_.peak = std::max(use_.peak, use_.current);
  ++use_.system_allocations;
  return block;
}

void MemoryCache::release(void* block, std::size_t bytes) noexcept {
  const std::size_t size = size_class(bytes);
  {
    std::lock_guard<std::mutex> lock(mutex_);
    use_.current -= size;
    if (size <= cap_) {
      evict(size);
      try {
        FreeBlocks& same = free_[size];
        same.blocks.push_back(block);
        same.last_use = ++uses_;
        use_.cached += size;
        return;
      } catch (const std::bad_alloc&) {  // no room to note it: give it back below
      }
    }
  }
  std::free(block);
}

void MemoryCache::evict(std::size_t room) noexcept {
  while (use_.cached > 0 && use_.cached + room > cap_) {
    const auto oldest = std::min_element(free_.begin(), free_.end(), [](const auto& a, const auto& b) {
      return a.second.blocks.empty() < b.second.blocks.empty() ||
             (a.second.blocks.empty() == b.second.blocks.empty() && a.second.last_use < b.second.last_use);
    });
    std::free(oldest->second.blocks.back());
    oldest->second.blocks.pop_back();
    use_.cached -= oldest->first;
  }
}

void MemoryCache::trim() noexcept {
  std::lock_guard<std::mutex> lock(mutex_);
  for (auto& [size, same] : free_)
    for (void* block : same.blocks) std::free(block);
  free_.clear();
  use_.cached = 0;
}

void MemoryCache::set_cap(std::size_t bytes) noexcept {
  std::lock_guard<std::mutex> lock(mutex_);
  cap_ = bytes;
  evict(0);
}

MemoryUse MemoryCache::use() const noexcept {
  std::lock_guard<std::mutex> lock(mutex_);
  return use_;
}

void MemoryCache::reset_peak() noexcept {
  std::lock_guard<std::mutex> lock(mutex_);
  use_.peak = use_.current;
}

}  // namespace weft
