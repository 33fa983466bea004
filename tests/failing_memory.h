// Makes allocations of the calling thread fail, one after the other, so that tests see what is left behind.
#pragma once
#include <cstddef>
#include <cstdint>

namespace weft::test {

// While in scope: counts the calling thread's allocations by operator new, of `smallest` bytes or more, and lets the
// `failing`-th, counted from 1, throw std::bad_alloc (0: none); with `sustained` all after it, too.
class FailingMemory {
 public:
  explicit FailingMemory(std::int64_t failing, std::size_t smallest = 0, bool sustained = false) noexcept;
  ~FailingMemory();
  FailingMemory(const FailingMemory&) = delete;
  FailingMemory& operator=(const FailingMemory&) = delete;

  std::int64_t allocations() const noexcept { return allocations_; }  // so far
  bool failed() const noexcept { return failing_ > 0 && allocations_ >= failing_; }

  bool fails(std::size_t bytes) noexcept;  // for operator new

 private:
  std::int64_t failing_, allocations_ = 0;
  std::size_t smallest_;
  bool sustained_;
};

}  // namespace weft::test
