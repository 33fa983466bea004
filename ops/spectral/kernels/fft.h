// Fourier transforms of columns. A work buffer is [rows][2][lanes]: each vector lane is a column, and a row holds the real
// parts of one element of every column, then the imaginary parts; each of the two is a plane of the buffer.
//   X_k = Σ_j x_j exp(-2πi jk/n)
// The inverse one, without its 1/n, is the forward one read backwards: x_j = X_((n-j) mod n).
#pragma once
#include <cstdint>

#include "simd/family.h"

namespace weft::detail {

inline constexpr std::int64_t max_lanes = 16;  // of f32 on any instruction set

// One pass over a block of `length` = radix · stride rows. Decimation in frequency, in place:
//   x[i + stride j] = exp(-2πi ij / length) Σ_q x[i + stride q] exp(-2πi qj / radix)   for i < stride, j < radix,
// after which each stride rows are a block of the next pass. Decimation in time is its transpose: first the factor, then
// the sum.
template <class T>
struct FftPass {
  std::int64_t radix, length;
  const T* twiddles;  // [stride][radix - 1][2], j from 1 on
  const T* roots;     // [radix][2]: cos and sin of 2πj / radix, for odd radices
};

// A plan as kernels see it. The passes leave bin k in row `row_of_bin[k]`. With `convolution`, Bluestein's algorithm:
//   X_k = conj(b_k) Σ_j (x_j conj(b_j)) b_(k-j),  b_k = exp(πi k²/n),
// whose sum is a cyclic convolution of a length >= 2n - 1; its bins are in their natural order.
template <class T>
struct FftView {
  std::int64_t n;
  std::int64_t passes;  // >= 1
  const FftPass<T>* pass;
  const std::int32_t* row_of_bin;  // [n]
  const std::int32_t* bin_of_row;  // [n]
  const FftView* convolution;      // null: the passes alone
  const T* chirp;                  // b, [n][2]
  const T* chirp_spectrum;         // in rows' order: the transform of b_|k|, divided by the convolution's length
};

// Element k of column c is data[k * step + offset[c]], for c < count <= lanes.
template <class T>
struct FftColumns {
  T* data;
  std::int64_t step;
  const std::int64_t* offset;
  std::int64_t count;
};

// Rows of a buffer are 2 · lanes apart; a `plane` points to its first row. Buffers have max(n, convolution's length) rows.
template <class T>
struct FftKernels {
  static constexpr std::string_view name = "fft";
  std::int64_t lanes;
  // Element k of the columns into row k of the plane, for k < n. Lanes from `count` on are 0.
  void (*gather)(std::int64_t n, const FftColumns<const T>& x, T* plane) noexcept;
  // factor times row `row[k]` of the plane into element k of the columns; null: row k.
  // Inverse: elements 1 … n - 1 come backwards.
  void (*scatter)(std::int64_t n, const std::int32_t* row, const T* plane, bool inverse, T factor,
                  const FftColumns<T>& y) noexcept;
  // Row `row[k]` of the plane into element k of the columns y and, backwards, into element (n - k) mod n of those whose
  // offsets are `mirror`, unless they are y's own.
  void (*scatter_mirrored)(std::int64_t n, const std::int32_t* row, const T* plane, const FftColumns<T>& y,
                           const std::int64_t* mirror) noexcept;
  // gather and scatter of complex elements, whose parts are neighbours.
  void (*gather_complex)(std::int64_t n, const FftColumns<const T>& x, T* work) noexcept;
  void (*scatter_complex)(std::int64_t n, const std::int32_t* row, const T* work, bool inverse, T factor,
                          const FftColumns<T>& y) noexcept;
  // In place: natural order to the plan's.
  void (*forward)(const FftView<T>& plan, T* work) noexcept;
  // gather_complex, forward and scatter_complex in one; y may be x. `next` is the first element of the columns that will
  // come after x, with the same step. `streamed`: y should not take room in the caches.
  void (*complex)(const FftView<T>& plan, const FftColumns<const T>& x, bool inverse, T factor, const FftColumns<T>& y,
                  const T* next, bool streamed, T* work) noexcept;
};

}  // namespace weft::detail
