#include "system/futex.h"

namespace weft::os {

// WebAssembly is built for one thread, so no other thread can change the word or sleep on it.
void sleep_while(const std::atomic<std::uint32_t>&, std::uint32_t) noexcept {}
void wake(const std::atomic<std::uint32_t>&) noexcept {}

}  // namespace weft::os
