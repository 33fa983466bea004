/// \file
/// Memory: a cache of aligned blocks in size classes, and statistics of its use.
#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#pragma GCC visibility push(default)
namespace weft {

/// Statistics of a MemoryCache.
struct MemoryUse {
  std::size_t current = 0;             ///< bytes in use by tensors and scratch
  std::size_t peak = 0;                ///< the highest `current` since the start or reset_peak
  std::size_t cached = 0;              ///< bytes kept for reuse
  std::size_t system_allocations = 0;  ///< the number of blocks taken from the system so far
};

/// Lends memory of the host program to weft: see MemoryCache::set_source. Several threads may call it at once. It must
/// not call weft.
class MemorySource {
 public:
  virtual ~MemorySource() = default;
  /// Returns a block of `bytes`, aligned to 64 bytes. If there is no memory it returns null or throws std::bad_alloc,
  /// and the requesting operation ends with an Error. Any other exception reaches the caller of weft.
  virtual void* allocate(std::size_t bytes) = 0;
  /// Takes back a block from allocate(bytes).
  virtual void release(void* block, std::size_t bytes) noexcept = 0;
};

/// A cache of blocks aligned to 64 bytes. It keeps freed blocks for reuse. All caches of the process share a budget,
/// initially 2 GiB or a quarter of the memory that the process may use, whichever is less. Beyond the budget the least
/// recently used blocks of all caches are released. When memory runs out, all caches release their unused blocks.
/// Thread-safe.
class MemoryCache {
 public:
  MemoryCache();
  ~MemoryCache();
  MemoryCache(const MemoryCache&) = delete;
  MemoryCache& operator=(const MemoryCache&) = delete;

  void* allocate(std::size_t bytes);  ///< Error if memory runs out or `bytes` exceeds the machine's memory
  /// Takes back a block from allocate(bytes).
  void release(void* block, std::size_t bytes) noexcept;
  /// Takes blocks from the source instead of the system, and keeps freed ones for reuse as usual. Null returns to the
  /// system. The blocks cached so far are released. Error if a block is in use. Set this before other threads use the
  /// cache.
  void set_source(std::shared_ptr<MemorySource> source);
  void trim() noexcept;  ///< releases all cached blocks to the system
  /// Sets the maximum number of bytes that this cache keeps for reuse. Initially only the budget limits it.
  void set_cap(std::size_t bytes) noexcept;
  /// Sets the maximum number of bytes that all caches of the process together keep for reuse.
  static void set_budget(std::size_t bytes) noexcept;
  static std::size_t budget() noexcept;  ///< the maximum of bytes that all caches keep for reuse
  MemoryUse use() const noexcept;        ///< the current statistics
  void reset_peak() noexcept;            ///< sets the peak to the bytes in use now

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
#pragma GCC visibility pop
