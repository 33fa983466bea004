// A transform of n = n1 n2 neighboring complex elements, computed as n2 transforms of n1 elements and n1 transforms of
// n2 elements. With j = n2 j1 + j2 and k = k1 + n1 k2:
//   X_k = Σ_j2 exp(-2πi j2 k2/n2) · exp(-2πi j2 k1/n) · Σ_j1 exp(-2πi j1 k1/n1) x_j
// The lanes are neighboring j2 in the first step and neighboring k1 in the second. A single sequence therefore fills
// the lanes, and its transforms fit into the caches.
#pragma once
#include <cstdint>

#include "simd/family.h"
#include "spectral/kernels/fft.h"

namespace weft::detail {

// n2 is a multiple of the lanes of every instruction set. n1 is also such a multiple, or it is 4 or 8.
template <class T>
struct FourStepView {
  const FftView<T>*first, *second;  // of lengths n1 and n2
  const T* twiddles;                // exp(-2πi j2 k1/n), [n1][2][n2]
  std::int64_t together;            // number of sequences at a time; 1 if n1 has several passes
};

template <class T>
struct FourStepKernels {
  static constexpr std::string_view name = "fft_four_step";
  // Computes y = factor times the transforms of the columns x, or their inverses without 1/n. y may be x. x and y have
  // step 2. `middle` has space for n · together + lanes · n2 complex elements, `work` for max(n1, n2) rows.
  void (*transform)(const FourStepView<T>& plan, const FftColumns<const T>& x, bool inverse, T factor,
                    const FftColumns<T>& y, T* middle, T* work) noexcept;
  // Works in place: computes the bins 0 … m of 2m real elements x from the m bins of z_j = x_2j + i x_(2j+1)
  // (fft_real.h). w contains exp(-πi k/m) for k <= m/2, [m/2 + 1][2]. m is even and more than twice the lanes.
  void (*unpack)(std::int64_t m, const T* w, T weight, T* y) noexcept;
};

}  // namespace weft::detail
