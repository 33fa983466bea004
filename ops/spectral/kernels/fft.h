// Fourier transforms of columns. A work buffer is [rows][2][lanes]. Each vector lane belongs to one column. A row holds
// the real parts of one element of every column, followed by the imaginary parts. The real parts of all rows are one
// plane of the buffer, and the imaginary parts are the other plane. The forward transform is
//   X_k = Σ_j x_j exp(-2πi jk/n)
// The inverse, without its factor 1/n, is the forward transform read backward: x_j = X_((n-j) mod n).
#pragma once
#include <cstdint>

#include "simd/family.h"

namespace weft::detail {

inline constexpr std::int64_t max_lanes = 16;  // the number of f32 lanes of the widest instruction set

// One pass over a block of `length` = radix · stride rows. Decimation in frequency works in place:
//   x[i + stride j] = exp(-2πi ij / length) Σ_q x[i + stride q] exp(-2πi qj / radix)   for i < stride, j < radix,
// Afterwards, every `stride` rows are a block of the next pass. Decimation in time is the transpose: it first
// multiplies by the factors and then sums.
template <class T>
struct FftPass {
  std::int64_t radix, length;
  const T* twiddles;  // [stride][radix - 1][2], starting at j = 1
  const T* roots;     // [radix][2]: cos and sin of 2πj / radix, for odd radices
};

// A plan in the format that kernels receive. The passes leave bin k in row `row_of_bin[k]`. If `convolution` is not
// null, the plan uses Bluestein's algorithm:
//   X_k = conj(b_k) Σ_j (x_j conj(b_j)) b_(k-j),  b_k = exp(πi k²/n).
// The sum is a cyclic convolution of length at least 2n - 1. Its bins are in natural order.
template <class T>
struct FftView {
  std::int64_t n;
  std::int64_t passes;  // >= 1
  const FftPass<T>* pass;
  const std::int32_t* row_of_bin;  // [n]
  const std::int32_t* bin_of_row;  // [n]
  const FftView* convolution;      // null: the plan uses only the passes
  const T* chirp;                  // b, [n][2]
  const T* chirp_spectrum;         // in the order of rows: the transform of b_|k|, divided by the convolution's length
};

// Element k of column c is data[k * step + offset[c]], for c < count <= lanes.
template <class T>
struct FftColumns {
  T* data;
  std::int64_t step;
  const std::int64_t* offset;
  std::int64_t count;
};

// Rows of a buffer are 2 · lanes numbers apart. `plane` points to the first row of a plane. Buffers have max(n, the
// convolution's length) rows.
template <class T>
struct FftKernels {
  static constexpr std::string_view name = "fft";
  std::int64_t lanes;
  // Copies element k of the columns to row k of the plane, for k < n. Lanes from `count` on are set to 0.
  void (*gather)(std::int64_t n, const FftColumns<const T>& x, T* plane) noexcept;
  // Copies factor times row `row[k]` of the plane to element k of the columns. If `row` is null, it copies row k. For
  // the inverse, elements 1 … n - 1 are in reverse order.
  void (*scatter)(std::int64_t n, const std::int32_t* row, const T* plane, bool inverse, T factor,
                  const FftColumns<T>& y) noexcept;
  // Copies row `row[k]` of the plane to element k of the columns y. Also copies it to element (n - k) mod n of the
  // columns with the offsets `mirror`, unless these are y's own offsets.
  void (*scatter_mirrored)(std::int64_t n, const std::int32_t* row, const T* plane, const FftColumns<T>& y,
                           const std::int64_t* mirror) noexcept;
  // gather and scatter for complex elements, whose parts are adjacent.
  void (*gather_complex)(std::int64_t n, const FftColumns<const T>& x, T* work) noexcept;
  void (*scatter_complex)(std::int64_t n, const std::int32_t* row, const T* work, bool inverse, T factor,
                          const FftColumns<T>& y) noexcept;
  // Transforms in place, from natural order to the plan's order.
  void (*forward)(const FftView<T>& plan, T* work) noexcept;
  // Does the work of gather_complex, forward and scatter_complex in one function. y may be x. `next` is the first
  // element of the columns after x, which have the same step. With `streamed`, the stores to y bypass the caches.
  void (*complex)(const FftView<T>& plan, const FftColumns<const T>& x, bool inverse, T factor, const FftColumns<T>& y,
                  const T* next, bool streamed, T* work) noexcept;
};

}  // namespace weft::detail
