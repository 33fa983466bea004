// Toeplitz products of columns by their definition. Rows are 2 · lanes apart, like the planes of kernels/fft.h.
#pragma once
#include <cstdint>

#include "simd/family.h"

namespace weft::detail {

template <class T>
struct ToeplitzNaiveKernels {
  static constexpr std::string_view name = "toeplitz_naive";
  // y_i = Σ_j t_(i-j) x_j in each lane, over j <= i if causal, else over j < n, in ascending order of j. t points to
  // lag 0. `accumulate` adds the terms to y.
  void (*multiply)(std::int64_t n, const T* t, const T* x, bool causal, bool accumulate, T* y) noexcept;
};

}  // namespace weft::detail
