// y[i] = a[i] op b[i] over n contiguous elements.
#pragma once
#include <cstdint>

#include "simd/family.h"

namespace weft::detail {

template <class T>
struct BinaryKernel {
  using Function = void (*)(const T* a, const T* b, T* y, std::int64_t n) noexcept;
  Function both;          // a[i] op b[i]
  Function scalar_right;  // a[i] op b[0]
  Function scalar_left;   // a[0] op b[i]
};

template <class T>
struct ElementwiseKernels {
  static constexpr std::string_view name = "elementwise";
  BinaryKernel<T> add, sub, mul, div;
  void (*scale)(const T* x, Computed<T> factor, T* y, std::int64_t n) noexcept;  // y[i] = factor x[i]
  void (*accumulate)(const T* x, Computed<T>* y, std::int64_t n) noexcept;       // y[i] += x[i]
};

}  // namespace weft::detail
