// Makes each allocation of the calling thread fail in turn, so that tests can check that a failure leaves no damage.
#pragma once
#include <cstddef>
#include <cstdint>

namespace weft::test {

// While in scope, counts the calling thread's allocations by operator new of at least `smallest` bytes. Allocation
// number `failing`, counted from 1, throws std::bad_alloc. If `failing` is 0, no allocation throws. If `sustained`, all
// later allocations throw, too.
class FailingMemory {
 public:
  explicit FailingMemory(std::int64_t failing, std::size_t smallest = 0, bool sustained = false) noexcept;
  ~FailingMemory();
  FailingMemory(const FailingMemory&) = delete;
  FailingMemory& operator=(const FailingMemory&) = delete;

  std::int64_t allocations() const noexcept { return allocations_; }  // so far
  bool failed() const noexcept { return failing_ > 0 && allocations_ >= failing_; }

  bool fails(std::size_t bytes) noexcept;  // called by operator new

 private:
  std::int64_t failing_, allocations_ = 0;
  std::size_t smallest_;
  bool sustained_;
};

}  // namespace weft::test
