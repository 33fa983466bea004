/// \file
/// Memory: aligned blocks from a cache with size classes, and what is in use.
#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
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

/// Blocks are aligned to 64 bytes. Freed blocks are kept for reuse up to a cap (at first 2 GiB or a quarter of the
/// machine's memory, whichever is less), beyond which the sizes that were not used for longest go. Thread-safe.
class MemoryCache {
 public:
  MemoryCache();
  ~MemoryCache();
  MemoryCache(const MemoryCache&) = delete;
  MemoryCache& operator=(const MemoryCache&) = delete;

  void* allocate(std::size_t bytes);  ///< Error if memory runs out or `bytes` exceeds the machine's memory
  /// Takes back a block that allocate(bytes) gave.
  void release(void* block, std::size_t bytes) noexcept;
  void trim() noexcept;  ///< gives all cached blocks back to the system
  /// The most bytes to keep for reuse.
  void set_cap(std::size_t bytes) noexcept;
  MemoryUse use() const noexcept;  ///< now
  void reset_peak() noexcept;      ///< to what is in use now

 private:
  struct FreeBlocks {
    std::vector<void*> blocks;
    std::uint64_t last_use = 0;
  };
  static std::size_t size_class(std::size_t bytes) noexcept;
  void evict(std::size_t room) noexcept;  // until `room` more bytes fit under the cap

  mutable std::mutex mutex_;
  std::map<std::size_t, FreeBlocks> free_;  // by size
  std::uint64_t uses_ = 0;
  std::size_t cap_;
  MemoryUse use_;
};

}  // namespace weft
#pragma GCC visibility pop
