#include "system/futex.h"

#include "system/windows/handle.h"

namespace weft::os {

static_assert(sizeof(std::atomic<std::uint32_t>) == sizeof(std::uint32_t));

void sleep_while(const std::atomic<std::uint32_t>& word, std::uint32_t value) noexcept {
  auto* address = const_cast<std::atomic<std::uint32_t>*>(&word);
  (void)::WaitOnAddress(address, &value, sizeof value, INFINITE);
}

void wake(const std::atomic<std::uint32_t>& word) noexcept {
  ::WakeByAddressAll(const_cast<std::atomic<std::uint32_t>*>(&word));
}

void in_forked_children(void (*)()) noexcept {}

}  // namespace weft::os
