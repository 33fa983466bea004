// Functions of one array, and derivatives that would take several passes with other kernels.
#pragma once
#include <cstdint>

#include "simd/family.h"

namespace weft::detail {

template <class T>
struct UnaryKernels {
  static constexpr std::string_view name = "unary";
  using Forward = void (*)(const T* x, T* y, std::int64_t n) noexcept;
  using Backward = void (*)(const T* kept, const T* dy, T* dx, std::int64_t n) noexcept;
  Forward exp, expm1, log, log1p, tanh, sigmoid, softplus, erf, sqrt, rsqrt, reciprocal, square, abs, sign, sin, cos;
  Backward sqrt_backward;    // dx = ½ dy / y
  Backward square_backward;  // dx = 2 x dy
  // dx = f'(x) dy
  Backward expm1_backward, log1p_backward, softplus_backward, erf_backward, rsqrt_backward, reciprocal_backward,
      abs_backward, sin_backward, cos_backward;
};

}  // namespace weft::detail
