#include "weft/memory.h"

#include <algorithm>
#include <atomic>
#include <new>
#include <string>
#include <utility>

#include "system/heap.h"
#include "weft/error.h"
#include "weft/os.h"

namespace weft {
namespace {

// Allocates large blocks in huge pages, except for the remainder at the end of a block. The rows of a tensor may be
// pages apart, and the processor's TLB has entries for only a few pages. Large blocks do not come from the heap,
// because a heap cannot return freed memory that lies below memory in use. When tensor sizes varied, for example with
// rows of different lengths, this unused memory exceeded the size of all tensors.
void* system_block(std::size_t size) noexcept {
  return size < os::huge_page ? os::heap_block(size) : os::map_pages(size);
}

void free_system_block(void* block, std::size_t size) noexcept {
  if (size < os::huge_page) os::free_heap_block(block);
  else os::unmap_pages(block, size);
}

}  // namespace

// Size classes are 2^k · {8, 9, … 15} / 8, in steps of at least 64 bytes. In blocks of at least 512 bytes, at most a
// ninth of the block is unused. The classes are this fine because sizes just above a power of 2 are common: in panels
// of 12 columns, a weight of 256 columns takes up 264 columns.
std::size_t MemoryCache::size_class(std::size_t bytes) noexcept {
  std::size_t power = 256;
  if (bytes <= power) return power;
  while (power <= bytes / 2) power *= 2;
  const std::size_t step = std::max(power / 8, std::size_t{64});  // at least one cache line
  return (bytes + step - 1) / step * step;
}

namespace {

// The list of all caches of the process. Lock its mutex before the mutex of a cache, never while holding one.
std::mutex caches_mutex;
MemoryCache* first_cache = nullptr;
std::atomic<std::size_t> cached_by_all{0};
std::atomic<std::uint64_t> uses{0};  // a counter that orders the uses of blocks by time

std::atomic<std::size_t>& budget_of_all() noexcept {
  static std::atomic<std::size_t> bytes{std::min<std::size_t>(std::size_t{2} << 30, os::physical_memory() / 4)};
  return bytes;
}

}  // namespace

MemoryCache::MemoryCache() {
  (void)budget();  // computes it now, while no mutex is held
  const std::lock_guard<std::mutex> lock(caches_mutex);
  after_ = first_cache;
  if (after_ != nullptr) after_->before_ = this;
  first_cache = this;
}

MemoryCache::~MemoryCache() {
  {
    const std::lock_guard<std::mutex> lock(caches_mutex);
    (before_ != nullptr ? before_->after_ : first_cache) = after_;
    if (after_ != nullptr) after_->before_ = before_;
  }
  trim();
}

void* MemoryCache::allocate(std::size_t bytes) {
  static const std::uint64_t limit = os::physical_memory();
  if (bytes > limit)
    throw Error("[memory] " + std::to_string(bytes) + " bytes were requested, but this machine has only " +
                std::to_string(limit) + " bytes of memory");
  const std::size_t size = size_class(bytes);
  {
    std::lock_guard<std::mutex> lock(mutex_);
    const auto found = free_.find(size);
    if (found != free_.end() && !found->second.blocks.empty()) {
      void* block = found->second.blocks.back();
      found->second.blocks.pop_back();
      found->second.last_use = ++uses;
      use_.cached -= size;
      cached_by_all -= size;
      use_.current += size;
      use_.peak = std::max(use_.peak, use_.current);
      return block;
    }
  }
  void* block = new_block(size);
  if (block == nullptr) {
    trim_all();
    block = new_block(size);
  }
  if (block == nullptr) throw OutOfMemory("[memory] out of memory: " + std::to_string(bytes) + " bytes were requested");
  std::lock_guard<std::mutex> lock(mutex_);
  use_.current += size;
  use_.peak = std::max(use_.peak, use_.current);
  ++use_.system_allocations;
  return block;
}

// Returns null if there is no memory. Call this without holding a mutex.
void* MemoryCache::new_block(std::size_t size) const try {
  return source_ ? source_->allocate(size) : system_block(size);
} catch (const std::bad_alloc&) {
  return nullptr;
}

void MemoryCache::free_block(void* block, std::size_t size) const noexcept {
  if (source_) source_->release(block, size);
  else free_system_block(block, size);
}

void MemoryCache::set_source(std::shared_ptr<MemorySource> source) {
  if (const MemoryUse now = use(); now.current > 0)
    throw Error("[memory] " + std::to_string(now.current) +
                " bytes are in use: set the memory source before the first tensor is created, or after the last one is "
                "destroyed");
  trim();
  source_ = std::move(source);
}

void MemoryCache::release(void* block, std::size_t bytes) noexcept {
  const std::size_t size = size_class(bytes);
  if (!keep(block, size)) free_block(block, size);
  else if (cached_by_all > budget()) keep_to_budget();
}

// Returns false if the cache has no space for the block.
bool MemoryCache::keep(void* block, std::size_t size) noexcept {
  std::lock_guard<std::mutex> lock(mutex_);
  use_.current -= size;
  if (size > std::min(cap_, budget())) return false;
  evict_down_to(cap_ - size);
  try {
    FreeBlocks& same = free_[size];
    same.last_use = ++uses;
    same.blocks.push_back(block);
  } catch (const std::bad_alloc&) {  // no memory for the list entry
    return false;
  }
  use_.cached += size;
  cached_by_all += size;
  return true;
}

// Returns the value of `uses` at the last use of the least recently used size class, or the maximum value if no blocks
// are cached. The caller must hold the mutex.
std::uint64_t MemoryCache::oldest_use() const noexcept {
  std::uint64_t oldest = UINT64_MAX;
  for (const auto& [size, same] : free_)
    if (!same.blocks.empty()) oldest = std::min(oldest, same.last_use);
  return oldest;
}

// Releases one block of the least recently used size class. The caller must hold the mutex, and at least one block must
// be cached.
void MemoryCache::evict_oldest() noexcept {
  const auto oldest = std::min_element(free_.begin(), free_.end(), [](const auto& a, const auto& b) {
    if (a.second.blocks.empty() != b.second.blocks.empty()) return b.second.blocks.empty();
    return a.second.last_use < b.second.last_use;
  });
  free_block(oldest->second.blocks.back(), oldest->first);
  oldest->second.blocks.pop_back();
  use_.cached -= oldest->first;
  cached_by_all -= oldest->first;
}

void MemoryCache::evict_down_to(std::size_t bytes) noexcept {
  while (use_.cached > bytes) evict_oldest();
}

void MemoryCache::keep_to_budget() noexcept {
  const std::lock_guard<std::mutex> lock(caches_mutex);
  while (cached_by_all > budget()) {
    MemoryCache* oldest = nullptr;
    std::uint64_t use = UINT64_MAX;
    for (MemoryCache* cache = first_cache; cache != nullptr; cache = cache->after_) {
      const std::lock_guard<std::mutex> own(cache->mutex_);
      const std::uint64_t its = cache->oldest_use();
      if (its < use) {
        use = its;
        oldest = cache;
      }
    }
    if (oldest == nullptr) return;
    const std::lock_guard<std::mutex> own(oldest->mutex_);
    if (oldest->use_.cached > 0) oldest->evict_oldest();
  }
}

void MemoryCache::trim() noexcept {
  std::lock_guard<std::mutex> lock(mutex_);
  for (auto& [size, same] : free_)
    for (void* block : same.blocks) free_block(block, size);
  free_.clear();
  cached_by_all -= use_.cached;
  use_.cached = 0;
}

void MemoryCache::trim_all() noexcept {
  const std::lock_guard<std::mutex> lock(caches_mutex);
  for (MemoryCache* cache = first_cache; cache != nullptr; cache = cache->after_) cache->trim();
}

void MemoryCache::set_cap(std::size_t bytes) noexcept {
  std::lock_guard<std::mutex> lock(mutex_);
  cap_ = bytes;
  evict_down_to(cap_);
}

void MemoryCache::set_budget(std::size_t bytes) noexcept {
  budget_of_all() = bytes;
  keep_to_budget();
}

std::size_t MemoryCache::budget() noexcept { return budget_of_all(); }

MemoryUse MemoryCache::use() const noexcept {
  std::lock_guard<std::mutex> lock(mutex_);
  return use_;
}

void MemoryCache::reset_peak() noexcept {
  std::lock_guard<std::mutex> lock(mutex_);
  use_.peak = use_.current;
}

}  // namespace weft
