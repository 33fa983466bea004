// Terms of losses and their derivatives.
#pragma once
#include <cstdint>

#include "simd/family.h"

namespace weft::detail {

// A function of e = x - t: e², |e|, or the Huber loss. The Huber loss is e²/2 where |e| <= delta. Elsewhere it is
// delta (|e| - delta/2).
enum class Distance { squared, absolute, huber };

template <class T>
struct LossKernels {
  static constexpr std::string_view name = "loss";
  // y = f(x - t)
  void (*distance)(Distance f, T delta, const T* x, const T* t, T* y, std::int64_t n) noexcept;
  // dx = f'(x - t) dy, where |e|' is 0 at 0
  void (*distance_backward)(Distance f, T delta, const T* x, const T* t, const T* dy, T* dx, std::int64_t n) noexcept;
  // y = max(x, 0) - x t + ln(1 + e^-|x|), where the first two terms are x (1 - t) or -x t
  void (*binary_cross_entropy)(const T* x, const T* t, T* y, std::int64_t n) noexcept;
  // dx = (sigmoid(x) - t) dy
  void (*binary_cross_entropy_backward)(const T* x, const T* t, const T* dy, T* dx, std::int64_t n) noexcept;
};

}  // namespace weft::detail
