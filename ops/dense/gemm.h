// The driver of dense products: C (m, n) = A (m, k) B (k, n), batched, with any strides.
#pragma once
#include <cstdint>
#include <vector>

#include "dense/kernels/gemm.h"

namespace weft::detail {

// Element (i, j) is data[i * row + j * column].
template <class T>
struct MatrixView {
  T* data;
  std::int64_t row, column;
};

// One axis of a batch, with the steps of the three matrices along it.
struct BatchAxis {
  std::int64_t size, a, b, c;
};

enum class Triangle { none, lower, upper };

// T names the types of the matrices; see kernels/gemm.h.
template <class T>
struct GemmProblem {
  std::int64_t m, n, k;
  MatrixView<const GemmIn<T>> a, b;
  MatrixView<GemmOut<T>> c;  // no two indices refer to the same element
  bool accumulate = false;   // C += instead of C =
  GemmSum<T> sign = 1;       // ±1, a factor of A B
  std::vector<BatchAxis> batch = {};
  GemmEpilogue<T> epilogue = {};  // requires no batch, and contiguous rows of C
  // B, packed by pack_b on the same instruction set, for a product without a batch. B itself is then read only if
  // reads_b is true.
  const GemmIn<T>* packed_b = nullptr;
  // A(i, p) is 0 for p > i (lower) or p < i (upper). Most products with these zeros are skipped, so a NaN in B may not
  // reach C through them.
  Triangle a_triangle = Triangle::none;
  bool c_lower = false;    // only C(i, j) with j <= i is needed; others may stay unchanged
  bool one_chain = false;  // sums are not split into parts, so the bits are the same as with packed_b
};

// Whether a product with packed_b reads B itself. B's columns must then be contiguous.
bool reads_b(std::int64_t k, std::int64_t n);

// Each element of C is a sum over k in a fixed order. The order depends only on m, n, k, the strides, the sign, the
// triangles and the presence of an epilogue. For bf16, and without fused multiply-adds, it also depends on the
// instruction set. k = 0 gives zeros (or the previous C), followed by the epilogue. For more than 16 rows, a sum of more
// than 4096 products is split into parts of 4096 products. Products with a batch, an epilogue, a triangle, a packed B, a
// bf16 C or `one_chain` do not split sums. A bf16 C is rounded once, from the whole f32 sum with the epilogue and the
// previous C.
template <class T>
void gemm(const GemmProblem<T>& problem);
// Uses the given kernels, which must belong to the current instruction set. Their kc, mc and nc may differ from the
// defaults. Other values change no bit of the result. packed_b must be null, because its panels have the default sizes.
template <class T>
void gemm(const GemmProblem<T>& problem, const GemmKernels<T>& kernel);

// The layout of a packed B (k, n) on the current instruction set; T is B's type.
template <class T>
PanelLayout panel_layout(std::int64_t k, std::int64_t n);
// Packs B. `out` must have space for the layout's elements.
template <class T>
void pack_b(std::int64_t k, std::int64_t n, MatrixView<const T> b, T* out);

}  // namespace weft::detail
