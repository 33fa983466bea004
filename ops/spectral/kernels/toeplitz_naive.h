// Toeplitz products of columns, computed by their definition. Rows are 2 · lanes numbers apart, as in the planes of
// kernels/fft.h.
#pragma once
#include <cstdint>

#include "simd/family.h"

namespace weft::detail {

template <class T>
struct ToeplitzNaiveKernels {
  static constexpr std::string_view name = "toeplitz_naive";
  // Computes y_i = Σ_j t_(i-j) x_j in each lane, over j <= i if causal, otherwise over j < n, in ascending order of j.
  // t points to lag 0. With `accumulate` the terms are added to y.
  void (*multiply)(std::int64_t n, const T* t, const T* x, bool causal, bool accumulate, T* y) noexcept;
};

}  // namespace weft::detail
