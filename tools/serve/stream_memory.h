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
  // Takes some bytes. Returns false if fewer are left.
  bool take(std::int64_t bytes) noexcept {
    const std::lock_guard lock(mutex_);
    if (bytes > most_ - taken_) return false;
    taken_ += bytes;
    return true;
  }
  void give_back(std::int64_t bytes) noexcept {
    const std::lock_guard lock(mutex_);
    taken_ -= bytes;
  }

 private:
  const std::int64_t most_;
  std::mutex mutex_;
  std::int64_t taken_ = 0;
};

}  // namespace serve
