#include "failing_memory.h"

#include <cstdlib>
#include <new>

namespace weft::test {
namespace {

thread_local FailingMemory* current = nullptr;

}  // namespace

FailingMemory::FailingMemory(std::int64_t failing, std::size_t smallest, bool sustained) noexcept
    : failing_(failing), smallest_(smallest), sustained_(sustained) {
  current = this;
}
FailingMemory::~FailingMemory() { current = nullptr; }

bool FailingMemory::fails(std::size_t bytes) noexcept {
  if (bytes < smallest_) return false;
  ++allocations_;
  return failing_ > 0 && (sustained_ ? allocations_ >= failing_ : allocations_ == failing_);
}

}  // namespace weft::test

// Replaces the operator of the standard library.
void* operator new(std::size_t bytes) {
  if (weft::test::current != nullptr && weft::test::current->fails(bytes)) throw std::bad_alloc();
  if (void* block = std::malloc(bytes == 0 ? 1 : bytes)) return block;
  throw std::bad_alloc();
}
void operator delete(void* block) noexcept { std::free(block); }
void operator delete(void* block, std::size_t) noexcept { std::free(block); }
