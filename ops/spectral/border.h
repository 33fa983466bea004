// bf16 support for operations that compute in f32.
#pragma once
#include "weft/shape.h"

namespace weft::detail {

// Returns f(x). If x is bf16, x is converted to f32 for f, and the result is rounded to bf16.
template <class F>
Tensor in_f32(const Tensor& x, F f) {
  if (x.dtype() != DType::bf16) return f(x);
  return cast(f(cast(x, DType::f32)), DType::bf16);
}

}  // namespace weft::detail
