// Fourier transforms of columns. A work buffer is [n][2][lanes]: each vector lane is a column, and row k holds the real
// parts of element k of every column, then the imaginary parts; each of the two is a plane of the buffer. All
// transforms are forward: X_k = Σ_j x_j exp(-2πi jk/n). The inverse one, without its 1/n, is the forward one with real
// and imaginary planes exchanged before and after.
#pragma once
#include <cstdint>

namespace weft {

// One pass of Stockham's decimation in frequency over n = groups · radix · stride elements (as pocketfft numbers them):
//   y[i + stride (k + groups j)] = exp(-2πi ij / (radix · stride)) Σ_q x[i + stride (q + radix k)] exp(-2πi qj / radix)
//   for i < stride, k < groups, j < radix.
template <class T>
struct FftPass {
  std::int64_t radix, groups, stride;
  const T* twiddles;  // [stride][radix - 1][2], j from 1 on
  const T* roots;     // [radix][2]: cos and sin of 2πj / radix, for odd radices
};

// A plan as kernels see it. With `convolution`, Bluestein's algorithm:
//   X_k = conj(b_k) Σ_j (x_j conj(b_j)) b_(k-j),  b_k = exp(πi k²/n),
// whose sum is a cyclic convolution of a length >= 2n - 1.
template <class T>
struct FftView {
  std::int64_t n;
  std::int64_t passes;
  const FftPass<T>* pass;
  const FftView* convolution;  // null: the passes alone
  const T* chirp;              // b, [n][2]
  const T* chirp_spectrum;     // the transform of b_|k|, divided by the convolution's length, [length][2]
};

// Element k of column c is data[k * step + offset[c]], for c < count <= lanes.
template <class T>
struct FftColumns {
  T* data;
  std::int64_t step;
  const std::int64_t* offset;
  std::int64_t count;
};

// Rows of a buffer are 2 · lanes apart; a `plane` points to its first row.
template <class T>
struct FftKernels {
  std::int64_t lanes;
  // Element k of the columns into row k of the plane, for k < n. Lanes from `count` on are 0.
  void (*gather)(std::int64_t n, const FftColumns<const T>& x, T* plane) noexcept;
  // factor times row k of the plane into element k of the columns.
  void (*scatter)(std::int64_t n, const T* plane, T factor, const FftColumns<T>& y) noexcept;
  // The transform of x, which is in x or y at the end: the return value says where. Both have
  // max(n, convolution's length) rows.
  T* (*transform)(const FftView<T>& plan, T* x, T* y) noexcept;
  // Bins 0 … n/2 of a transform of real columns: all but 0 and (n even) n/2 times `weight`; the imaginary parts of
  // these two are 0.
  void (*half_spectrum)(std::int64_t n, T weight, T* real, T* imag) noexcept;
  // With the planes of y exchanged, over n rows:  y = x c,  y = x conj(c),  y += x conj(c).
  void (*multiply)(std::int64_t n, const T* x, const T* c, T* y) noexcept;
  void (*multiply_conj)(std::int64_t n, const T* x, const T* c, T* y) noexcept;
  void (*accumulate_conj)(std::int64_t n, const T* x, const T* c, T* y) noexcept;
};

}  // namespace weft
