#include "serve/memory_reserve.h"

#include <atomic>
#include <cstdlib>
#include <new>

namespace serve {
namespace {

// Until it is used, the reserve takes only address space. Larger: less is left for requests under a limit. Smaller: more
// requests that end at the same time may use it up.
constexpr std::size_t bytes = std::size_t{4} << 20;
std::atomic<void*> reserve = nullptr;

// `new` calls this function when there is no memory, and then tries again.
void give_reserve() {
  void* const taken = reserve.exchange(nullptr);
  if (taken == nullptr) throw std::bad_alloc();
  std::free(taken);
}

}  // namespace

bool keep_memory_reserve() noexcept {
  if (reserve.load() != nullptr) return true;
  void* const more = std::malloc(bytes);
  if (more == nullptr) return false;
  void* expected = nullptr;
  if (!reserve.compare_exchange_strong(expected, more)) std::free(more);
  std::set_new_handler(give_reserve);
  return true;
}

}  // namespace serve
