// What reads and writes bf16, and computes in f32.
#pragma once
#include "weft/shape.h"

namespace weft::detail {

// f(x); of a bf16 x in f32, and rounded.
template <class F>
Tensor in_f32(const Tensor& x, F f) {
  if (x.dtype() != DType::bf16) return f(x);
  return cast(f(cast(x, DType::f32)), DType::bf16);
}

}  // namespace weft::detail
