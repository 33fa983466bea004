/// \file
/// Memory: aligned blocks from a cache with size classes, and what is in use.
#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#pragma GCC visibility push(default)
namespace weft {

/// What a MemoryCache holds.
struct MemoryUse {
  std::size_t current = 0;             ///< bytes in use by tensors and scratch
  std::size_t peak = 0;                ///< the highest `current` since the start or reset_peak
  std::size_t cached = 0;              ///< bytes kept for reuse
  std::size_t system_allocations = 0;  ///< how many blocks came from the system so far
};

/// Memory of a host program, for it to lend: see MemoryCache::set_source. Any thread may call it, several at once; it must not
/// call weft.
class MemorySource {
 public:
  virtual ~MemorySource() = default;
  /// A block of `bytes`, aligned to 64. Null or std::bad_alloc if there is none: what asked for it ends with an Error. Anything
  /// else that it throws goes to the caller of weft.
  virtual void* allocate(std::size_t bytes) = 0;
  /// Takes back a block that allocate(bytes) gave.
  virtual void release(void* block, std::size_t bytes) noexcept = 0;
};

/// Blocks are aligned to 64 bytes. Freed blocks are kept for reuse, all caches of the process together up to a budget (at
/// first 2 GiB or a quarter of the memory that the process may have, whichever is less), beyond which those that were not
/// used for longest go, whoever has them. When memory runs out all caches give back what they keep. Thread-safe.
class MemoryCache {
 public:
  MemoryCache();
  ~MemoryCache();
  MemoryCache(const MemoryCache&) = delete;
  MemoryCache& operator=(const MemoryCache&) = delete;

  void* allocate(std::size_t bytes);  ///< Error if memory runs out or `bytes` exceeds the machine's memory
  /// Takes back a block that allocate(bytes) gave.
  void release(void* block, std::size_t bytes) noexcept;
  /// Blocks come from the source instead of the system, and are kept for reuse as those; null: from the system again. What is
  /// kept now is given back. Error if a block is in use. To be set before other threads use the cache.
  void set_source(std::shared_ptr<MemorySource> source);
  void trim() noexcept;  ///< gives all cached blocks back to the system
  /// The most bytes that this cache keeps for reuse; at first any number within the budget.
  void set_cap(std::size_t bytes) noexcept;
  /// The most bytes that all caches of the process keep for reuse.
  static void set_budget(std::size_t bytes) noexcept;
  static std::size_t budget() noexcept;  ///< the most bytes that all caches of the process keep for reuse
  MemoryUse use() const noexcept;        ///< now
  void reset_peak() noexcept;            ///< to what is in use now

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
  std::map<std::size_t, FreeBlocks> free_;  // by size
  std::size_t cap_ = static_cast<std::size_t>(-1);
  MemoryUse use_;
  std::shared_ptr<MemorySource> source_;              // null: the system
  MemoryCache *before_ = nullptr, *after_ = nullptr;  // in the process's list
};

}  // namespace weft
#pragma GCC visibility pop
