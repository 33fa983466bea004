// Update rules of optimizers. They update n elements of flat arrays in place.
#pragma once
#include <cstdint>

#include "pointwise/optimizers/all.h"
#include "simd/family.h"

namespace weft::detail {

template <class T>
struct OptimizerKernels {
  static constexpr std::string_view name = "optimizer";
  // The index is a rule's position in Rules. `constants` points to the rule's Constants<T>. `states` are its state
  // arrays.
  void (*update[Rules::size])(const void* constants, T* p, const T* grad, T* const* states, std::int64_t n) noexcept;
};

}  // namespace weft::detail
