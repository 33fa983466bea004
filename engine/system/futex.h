// Waiting for another thread: asleep in the kernel until a word changes.
#pragma once
#include <atomic>
#include <cstdint>

namespace weft::os {

// Sleeps unless `word` has another value than `value`, until wake(word); may return earlier for no reason.
void sleep_while(const std::atomic<std::uint32_t>& word, std::uint32_t value) noexcept;
// Wakes all that sleep on the word.
void wake(const std::atomic<std::uint32_t>& word) noexcept;

// Tells the CPU that a loop waits.
inline void relax() noexcept {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// `handler` runs in each child of fork(), before fork returns there.
void in_forked_children(void (*handler)()) noexcept;

}  // namespace weft::os
