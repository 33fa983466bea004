// Storage: a reference-counted block of elements and its version.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "weft/memory.h"
#include "weft/tensor.h"

namespace weft::detail {

class Storage {
 public:
  // Allocates from the memory cache, and keeps the cache alive.
  Storage(std::shared_ptr<MemoryCache> memory, std::size_t bytes)
      : data_(memory->allocate(bytes)), bytes_(bytes), memory_(std::move(memory)) {}
  // Wraps read-only memory that another owner provides.
  Storage(std::shared_ptr<const void> owner, const void* data, std::size_t bytes)
      : data_(const_cast<void*>(data)), bytes_(bytes), owner_(std::move(owner)) {}
  ~Storage() {
    if (memory_) memory_->release(data_, bytes_);
  }
  Storage(const Storage&) = delete;
  Storage& operator=(const Storage&) = delete;

  const void* data() const noexcept { return data_; }
  void* mutable_data() {
    if (!writable()) throw Error("[tensor] a borrowed tensor, for example one in a mapped file, can't be written");
    version_.store(next_version(), std::memory_order_relaxed);
    return data_;
  }
  std::size_t bytes() const noexcept { return bytes_; }
  bool writable() const noexcept { return memory_ != nullptr; }
  std::uint64_t version() const noexcept { return version_.load(std::memory_order_relaxed); }

  // The record of a cheap op that computed these elements, and the version at that time. A tape uses them to recompute
  // the elements instead of saving them.
  Node producer;
  std::uint64_t produced_version = 0;

  // Whether the elements lie in a read-only mapped file. Their memory may be returned to the system at any time.
  bool in_mapped_file = false;

 private:
  // No two storages ever have the same version, so a cache that uses the version as its key can't confuse two storages.
  static std::uint64_t next_version() noexcept {
    static std::atomic<std::uint64_t> last{0};
    return last.fetch_add(1, std::memory_order_relaxed) + 1;
  }

  void* data_;
  std::size_t bytes_;
  std::atomic<std::uint64_t> version_{next_version()};
  std::shared_ptr<MemoryCache> memory_;
  std::shared_ptr<const void> owner_;
};

}  // namespace weft::detail
