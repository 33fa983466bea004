// A Context's cache of plans.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <string>

#include "base/common.h"
#include "spectral/fft_length.h"
#include "weft/context.h"
#include "weft/os.h"

namespace weft::detail {

// The most recently used plans, in order of their last use. The cache always keeps the newest plan, and others up to a
// number of bytes. It is thread-safe. An evicted plan stays alive while it is in use.
template <class Plan>
class PlanCache {
 public:
  using Handle = std::shared_ptr<const Plan>;

  Handle find(std::int64_t n) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = std::find_if(plans_.begin(), plans_.end(), [n](const Handle& p) { return p->length() == n; });
    if (found == plans_.end()) return nullptr;
    plans_.splice(plans_.begin(), plans_, found);
    return plans_.front();
  }

  // Inserts the plan and returns it. If another thread has inserted a plan of the same length first, returns that plan.
  Handle insert(const Handle& plan) {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (const Handle& other : plans_)
      if (other->length() == plan->length()) return other;
    plans_.push_front(plan);
    bytes_ += plan->bytes();
    while (bytes_ > cache_bytes && plans_.size() > 1) {
      bytes_ -= plans_.back()->bytes();
      plans_.pop_back();
    }
    return plan;
  }

 private:
  // The number of bytes for all plans of one kind. Larger: a program's memory use grows noticeably. Smaller: the cache
  // can't hold the plans for all lengths of a program, and recreating a plan takes as long as many transforms. No
  // benchmark uses that many lengths.
  static constexpr std::size_t cache_bytes = std::size_t{32} << 20;

  std::mutex mutex_;
  std::list<Handle> plans_;
  std::size_t bytes_ = 0;
};

// Returns the plan of length n from the current Context's cache. Throws an Error if n is too long for any machine.
template <class Plan>
std::shared_ptr<const Plan> cached_plan(const char* op, std::int64_t n) {
  constexpr std::int64_t longest = std::int64_t{1} << 30;
  if (n > longest)
    fail(op, "expected a transform of at most " + std::to_string(longest) + " elements, got " + std::to_string(n));
  auto& cache = Context::current().slot<PlanCache<Plan>>();
  if (auto plan = cache.find(n)) return plan;
  // The maximum number of bytes per element that making a plan takes.
  const std::uint64_t element = fft_radices(n).empty() ? 512 : 128;
  if (static_cast<std::uint64_t>(n) * element > os::physical_memory())
    fail(op, "the tables for a transform of " + std::to_string(n) + " elements don't fit in this machine's memory");
  return cache.insert(std::make_shared<const Plan>(n));
}

}  // namespace weft::detail
