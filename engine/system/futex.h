// Waiting for another thread: the thread sleeps in the kernel until a word changes.
#pragma once
#include <atomic>
#include <cstdint>

namespace weft::os {

// If `word` equals `value`, sleeps until wake(word) is called. Otherwise returns immediately. Spurious wake-ups are
// possible.
void sleep_while(const std::atomic<std::uint32_t>& word, std::uint32_t value) noexcept;
// Wakes all threads that sleep on the word.
void wake(const std::atomic<std::uint32_t>& word) noexcept;

// Tells the CPU that the thread is in a spin loop.
inline void relax() noexcept {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// Runs `handler` in each child of fork(), before fork returns there. Does nothing on systems without fork().
void in_forked_children(void (*handler)()) noexcept;

}  // namespace weft::os
