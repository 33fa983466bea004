// Sums and maxima of contiguous rows and columns. The order of each sum depends only on its length and the instruction
// set.
#pragma once
#include <cstdint>

#include "simd/family.h"

namespace weft::detail {

template <class T>
struct ReduceKernels {
  static constexpr std::string_view name = "reduce";
  // y[r] = sum_j x[r n + j]
  void (*sum_rows)(const T* x, Computed<T>* y, std::int64_t rows, std::int64_t n) noexcept;
  // y[j] = sum_r x[r stride + j], j < n
  void (*sum_columns)(const T* x, std::int64_t stride, Computed<T>* y, std::int64_t rows, std::int64_t n) noexcept;
  // y[r] = max_j x[r n + j]. index[r] is the first position of the maximum. NaN is larger than all numbers. n >= 1.
  void (*max_rows)(const T* x, T* y, std::int64_t* index, std::int64_t rows, std::int64_t n) noexcept;
  // sum_i x[i]², in f64
  double (*sum_squares)(const T* x, std::int64_t n) noexcept;
};

}  // namespace weft::detail
