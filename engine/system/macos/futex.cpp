#include "system/futex.h"

namespace weft::os {

// The standard library sleeps in the kernel, like a futex.
void sleep_while(const std::atomic<std::uint32_t>& word, std::uint32_t value) noexcept {
  word.wait(value, std::memory_order_relaxed);
}

void wake(const std::atomic<std::uint32_t>& word) noexcept {
  const_cast<std::atomic<std::uint32_t>&>(word).notify_all();
}

}  // namespace weft::os
