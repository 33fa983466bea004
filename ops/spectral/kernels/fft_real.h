// Transforms of n = 2m real elements by complex transforms of m, z_j = x_2j + i x_(2j+1). With w = exp(-2πi/n):
//   E_k = (Z_k + conj Z_(m-k)) / 2,  O_k = (Z_k - conj Z_(m-k)) / 2i,
//   X_k = E_k + w^k O_k,  X_(m-k) = conj(E_k - w^k O_k)
// The inverse, for sums over all n bins of a spectrum of which 0 … m are given:
//   Z_k = (X_k + conj X_(m-k)) + i w^-k (X_k - conj X_(m-k))
#pragma once
#include <cstdint>

#include "simd/family.h"
#include "spectral/kernels/fft.h"

namespace weft::detail {

template <class T>
struct RealFftView {
  const FftView<T>* half;          // of length m
  const T* twiddles;               // w^k for k <= m/2, [m/2 + 1][2]
  const std::int32_t* row_of_bin;  // of X, [m + 1]; bin m has its own row after the others
};

// Work buffers have at least m + 1 rows. All bins except 0 and m are multiplied by `weight`. The imaginary parts of
// bins 0 and m are 0.
template <class T>
struct RealFftKernels {
  static constexpr std::string_view name = "fft_real";
  // In place: Z in the plan's order to X.
  void (*unpack)(const RealFftView<T>& plan, T weight, T* work) noexcept;
  // Transforms neighboring columns x of 2m real elements to y, factor times their bins 0 … m. Returns false and does
  // nothing if x or y are not neighboring columns, or if there is no such pass. `next` is the first element of the
  // columns after x, with the same step.
  bool (*columns)(const RealFftView<T>& plan, const FftColumns<const T>& x, T weight, T factor, const FftColumns<T>& y,
                  const T* next, T* work) noexcept;
  // In place: X in natural order to Z.
  void (*pack)(const RealFftView<T>& plan, T weight, T* work) noexcept;
  // The same for one complex sequence of n bins, if only 0 … n/2 are given or requested. `row` contains their rows;
  // null: natural order.
  void (*weigh)(std::int64_t n, const std::int32_t* row, T weight, T* work) noexcept;
};

}  // namespace weft::detail
