// Transforms of n = 2m real elements by complex transforms of the m elements z_j = x_2j + i x_(2j+1). With w =
// exp(-2πi/n):
//   E_k = (Z_k + conj Z_(m-k)) / 2,  O_k = (Z_k - conj Z_(m-k)) / 2i,
//   X_k = E_k + w^k O_k,  X_(m-k) = conj(E_k - w^k O_k)
// The inverse sums over all n bins, but only the bins 0 … m of the spectrum are given:
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
  const std::int32_t* row_of_bin;  // rows of X's bins, [m + 1]; bin m has its own row after the others
};

// Work buffers have at least m + 1 rows. All bins except 0 and m are multiplied by `weight`. The imaginary parts of
// bins 0 and m are 0.
template <class T>
struct RealFftKernels {
  static constexpr std::string_view name = "fft_real";
  // Works in place: converts Z in the plan's order to X.
  void (*unpack)(const RealFftView<T>& plan, T weight, T* work) noexcept;
  // Transforms neighboring columns x of 2m real elements to y, which receives factor times their bins 0 … m. Returns
  // false and does nothing if the columns of x or y are not neighbors, if they don't fill the lanes, or if the plan
  // uses Bluestein's algorithm. `next` is the first element of the columns after x, which have the same step.
  bool (*columns)(const RealFftView<T>& plan, const FftColumns<const T>& x, T weight, T factor, const FftColumns<T>& y,
                  const T* next, T* work) noexcept;
  // Works in place: converts X in natural order to Z.
  void (*pack)(const RealFftView<T>& plan, T weight, T* work) noexcept;
  // Multiplies the bins 0 … n/2 of a complex sequence by `weight`, for transforms of n elements in which only these
  // bins are given or requested. Bins 0 and n/2 are not multiplied, but their imaginary parts are set to 0. `row`
  // contains the rows of the bins. If `row` is null, the bins are in natural order.
  void (*weigh)(std::int64_t n, const std::int32_t* row, T weight, T* work) noexcept;
};

}  // namespace weft::detail
