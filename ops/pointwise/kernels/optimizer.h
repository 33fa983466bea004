// Optimizer updates of n flat elements, in place.
#pragma once
#include <cstdint>

#include "pointwise/optimizers/all.h"
#include "simd/family.h"

namespace weft::detail {

template <class T>
struct OptimizerKernels {
  static constexpr std::string_view name = "optimizer";
  // By a rule's place in Rules. `constants` are the rule's Constants<T>, `states` as many arrays as it has.
  void (*update[Rules::size])(const void* constants, T* p, const T* grad, T* const* states, std::int64_t n) noexcept;
};

}  // namespace weft::detail
