#include "system/futex.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <climits>

namespace weft::os {

static_assert(sizeof(std::atomic<std::uint32_t>) == sizeof(std::uint32_t));

// See futex(2).
void sleep_while(const std::atomic<std::uint32_t>& word, std::uint32_t value) noexcept {
  (void)::syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, value, nullptr, nullptr, 0);
}

void wake(const std::atomic<std::uint32_t>& word) noexcept {
  (void)::syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
}

}  // namespace weft::os
