// Loops over operands that are broadcast to a common shape.
#pragma once
#include <algorithm>
#include <array>

#include "base/common.h"
#include "weft/detail/nest.h"

namespace weft::detail {

// Returns the loop nest of N operands and a contiguous result. Along the innermost axis each operand is dense (stride
// 1) or a single element (stride 0), and at least one operand is dense. If the strides of the operands do not allow
// this, all operands are replaced by contiguous copies.
template <std::size_t N>
Nest<N + 1> broadcast_nest(const Shape& shape, const std::array<Tensor*, N>& operands) {
  const auto nest = [&] {
    std::array<Strides, N + 1> strides;
    std::array<const Strides*, N + 1> all;
    for (std::size_t k = 0; k <= N; ++k) {
      strides[k] = k < N ? broadcast_strides(*operands[k], shape) : contiguous_strides(shape);
      all[k] = &strides[k];
    }
    return Nest<N + 1>(shape, all);
  };
  const auto fits = [](const Nest<N + 1>& of) {
    const auto& inner = of.strides.back();
    return std::all_of(inner.begin(), inner.end() - 1, [](std::int64_t s) { return s == 0 || s == 1; }) &&
           std::count(inner.begin(), inner.end() - 1, 1) > 0;
  };
  Nest<N + 1> first = nest();
  if (fits(first)) return first;
  for (Tensor* x : operands) *x = raw::contiguous(*x);
  return nest();
}

// The dtype in which the gradient of an operand is computed from dy. For bf16 it is f32 if the gradient is a sum, so
// that the sum is rounded only once.
inline DType gradient_dtype(const Tensor& dy, const Shape& operand) {
  return dy.shape() == operand ? dy.dtype() : computed_of(dy.dtype());
}

}  // namespace weft::detail
