// The drivers of products with 8-bit and 4-bit weights: y (m, n) = x (m, k) Wᵀ, with linear's epilogue.
#pragma once
#include <cstdint>

#include "dense/kernels/gemm.h"
#include "dense/kernels/quantized.h"

namespace weft::detail {

// The layout of W: `count` panels of `nr` rows and `units` units, one after the other. Each panel has `bytes` bytes, or
// `wide` units when it is widened. The layout belongs to the kernels of one instruction set.
struct QuantizedPanels {
  std::int64_t nr, units, count, bytes, wide;
  std::int64_t all() const { return count * bytes; }
};
template <class T>
QuantizedPanels quantized_panels(const QuantizedKernels<T>& kernel, std::int64_t rows, std::int64_t columns) {
  const std::int64_t units = (columns + kernel.unit - 1) / kernel.unit;
  return {kernel.nr, units, (rows + kernel.nr - 1) / kernel.nr, kernel.nr * units * kernel.unit,
          kernel.nr * (1 + wide_units(units))};
}

// x · first · second is x in units of magnitude / limit. After rounding these are integers of at most `limit`. There
// are two factors, because a single one may exceed f32's range.
struct QuantizedFactors {
  float first, second;
  QuantizedFactors(float magnitude, float limit)
      : first(magnitude < 0x1p-60f ? 0x1p64f : 1), second(magnitude > 0 ? limit / (magnitude * first) : 0) {}
};

// T is float or bfloat16. Rows of x and y are contiguous. GemmEpilogue describes the operands of the epilogue.
template <class T>
struct QuantizedProblem {
  std::int64_t m, n, k;
  const T* x;
  std::int64_t x_row;
  const std::int8_t* panels;  // for the current instruction set
  const float* scales;        // (n) for 8 bits; panels of 4 bits contain their scales
  T* y;                       // (m, n), contiguous
  GemmEpilogue<T> epilogue = {};
};

template <class T>
void quantized_product(const QuantizedProblem<T>& problem);  // 8 bits
template <class T>
void int4_product(const QuantizedProblem<T>& problem);

}  // namespace weft::detail
