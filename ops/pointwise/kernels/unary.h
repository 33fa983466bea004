// Functions of one array, and derivatives that no other kernel computes in one pass.
#pragma once
#include <cstdint>

#include "simd/family.h"

namespace weft::detail {

template <class T>
struct UnaryKernels {
  static constexpr std::string_view name = "unary";
  using Forward = void (*)(const T* x, T* y, std::int64_t n) noexcept;
  using Backward = void (*)(const T* kept, const T* dy, T* dx, std::int64_t n) noexcept;
  Forward exp, expm1, log, tanh, sigmoid, erf, sqrt, square;
  Backward sqrt_backward;    // dx = ½ dy / y
  Backward square_backward;  // dx = 2 x dy
};

}  // namespace weft::detail
