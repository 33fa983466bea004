// Terms of losses and their derivatives.
#pragma once
#include <cstdint>

#include "simd/family.h"

namespace weft::detail {

template <class T>
struct LossKernels {
  static constexpr std::string_view name = "loss";
  // y = max(x, 0) - x t + ln(1 + e^-|x|), where the first two terms are x (1 - t) or -x t
  void (*binary_cross_entropy)(const T* x, const T* t, T* y, std::int64_t n) noexcept;
  // dx = (sigmoid(x) - t) dy
  void (*binary_cross_entropy_backward)(const T* x, const T* t, const T* dy, T* dx, std::int64_t n) noexcept;
};

}  // namespace weft::detail
