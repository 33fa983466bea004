// Bounds the memory of the texts that all models continue.
#pragma once
#include <weft/os.h>

#include <cstdint>
#include <mutex>

#include "serve/settings.h"

namespace serve {

// Thread-safe.
class StreamMemory {
 public:
  explicit StreamMemory(const Settings& settings)
      : most_(settings.max_memory > 0 ? settings.max_memory
                                      : static_cast<std::int64_t>(weft::os::physical_memory() / 2)) {}

  std::int64_t most() const noexcept { return most_; }
  // Takes some bytes for `taker`. Returns false if fewer are left, or if another taker waits for bytes. A taker waits
  // from a call that returned false until one that returns true, or until it leaves. Otherwise, a taker that needs many
  // bytes could wait forever while others take and give back a few.
  bool take(std::int64_t bytes, const void* taker) noexcept {
    const std::lock_guard lock(mutex_);
    if (bytes == 0) return true;
    if (waits_ == nullptr) waits_ = taker;
    if (waits_ != taker || bytes > most_ - taken_) return false;
    waits_ = nullptr;
    taken_ += bytes;
    return true;
  }
  void leave(const void* taker) noexcept {
    const std::lock_guard lock(mutex_);
    if (waits_ == taker) waits_ = nullptr;
  }
  void give_back(std::int64_t bytes) noexcept {
    const std::lock_guard lock(mutex_);
    taken_ -= bytes;
  }

 private:
  const std::int64_t most_;
  std::mutex mutex_;
  std::int64_t taken_ = 0;
  const void* waits_ = nullptr;  // the taker that waits
};

}  // namespace serve
