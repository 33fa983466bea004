/// \file
/// MemoryCache: a cache of aligned memory blocks, and statistics of its use.
#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "weft/visibility.h"

WEFT_PUBLIC_BEGIN
namespace weft {

/// Statistics of a MemoryCache.
struct MemoryUse {
  std::size_t current = 0;             ///< bytes in use by tensors and scratch memory
  std::size_t peak = 0;                ///< the maximum of `current` since the start or the last reset_peak()
  std::size_t cached = 0;              ///< bytes in free blocks that are kept for reuse
  std::size_t system_allocations = 0;  ///< the number of blocks that were allocated from the system so far
};

/// An interface through which the host program lends memory to weft. See MemoryCache::set_source. Several threads may
/// call it at the same time. It must not call weft.
class MemorySource {
 public:
  virtual ~MemorySource() = default;
  /// Returns a block of `bytes` bytes, aligned to 64 bytes. If there is no memory, it returns null or throws
  /// std::bad_alloc, and the requesting operation then throws OutOfMemory. Any other exception reaches the caller of
  /// weft.
  virtual void* allocate(std::size_t bytes) = 0;
  /// Takes back a block that allocate(bytes) returned.
  virtual void release(void* block, std::size_t bytes) noexcept = 0;
};

/// A memory allocator that keeps freed blocks for reuse. Blocks are aligned to 64 bytes. All caches of the process
/// share a budget for the blocks that they keep. The initial budget is 2 GiB or a quarter of the memory that the
/// process may use, whichever is less. If the kept blocks exceed the budget, the least recently used blocks of all
/// caches are released. When memory runs out, all caches release all the blocks that they keep. Thread-safe.
class MemoryCache {
 public:
  MemoryCache();
  ~MemoryCache();
  MemoryCache(const MemoryCache&) = delete;
  MemoryCache& operator=(const MemoryCache&) = delete;

  /// Returns a block of at least `bytes` bytes. Throws OutOfMemory if memory runs out, and another Error if `bytes`
  /// exceeds the machine's memory.
  void* allocate(std::size_t bytes);
  /// Takes back a block that allocate(bytes) returned.
  void release(void* block, std::size_t bytes) noexcept;
  /// Allocates blocks from the source instead of the system. Freed blocks are kept for reuse as usual. A null pointer
  /// selects the system again. The blocks that the cache has kept so far are released. Error if a block is in use. Call
  /// this before other threads use the cache.
  void set_source(std::shared_ptr<MemorySource> source);
  void trim() noexcept;  ///< releases all cached blocks to the system or the source
  /// Sets the maximum number of bytes that this cache keeps for reuse. By default, only the budget limits this number.
  void set_cap(std::size_t bytes) noexcept;
  /// Sets the maximum number of bytes that all caches of the process together keep for reuse.
  static void set_budget(std::size_t bytes) noexcept;
  static std::size_t budget() noexcept;  ///< the current budget, in bytes
  MemoryUse use() const noexcept;        ///< the current statistics
  void reset_peak() noexcept;            ///< sets the peak to the number of bytes in use now

 private:
  struct FreeBlocks {
    std::vector<void*> blocks;
    std::uint64_t last_use = 0;
  };
  static std::size_t size_class(std::size_t bytes) noexcept;
  static void trim_all() noexcept;
  static void keep_to_budget() noexcept;
  void* new_block(std::size_t size) const;
  void free_block(void* block, std::size_t size) const noexcept;
  bool keep(void* block, std::size_t size) noexcept;
  std::uint64_t oldest_use() const noexcept;
  void evict_oldest() noexcept;
  void evict_down_to(std::size_t bytes) noexcept;

  mutable std::mutex mutex_;
  std::map<std::size_t, FreeBlocks> free_;  // by size class
  std::size_t cap_ = static_cast<std::size_t>(-1);
  MemoryUse use_;
  std::shared_ptr<MemorySource> source_;              // null: the system
  MemoryCache *before_ = nullptr, *after_ = nullptr;  // neighbors in the process's list of caches
};

}  // namespace weft
WEFT_PUBLIC_END
