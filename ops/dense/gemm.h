// The driver of dense products: C (m, n) = A (m, k) B (k, n), batched, of any strides.
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

// One axis of a batch, and the steps along it of the three matrices.
struct BatchAxis {
  std::int64_t size, a, b, c;
};

enum class Triangle { none, lower, upper };

// Of the types that T names: kernels/gemm.h.
template <class T>
struct GemmProblem {
  std::int64_t m, n, k;
  MatrixView<const GemmIn<T>> a, b;
  MatrixView<GemmOut<T>> c;  // no element is reached by two indices
  bool accumulate = false;   // C += instead of C =
  GemmSum<T> sign = 1;       // ±1, a factor of A B
  std::vector<BatchAxis> batch = {};
  GemmEpilogue<T> epilogue = {};        // without a batch, and with contiguous rows of C
  const GemmIn<T>* packed_b = nullptr;  // B once more, as pack_b gives it on the same instruction set; without a batch.
                                        // Then B itself is not read, unless reads_b says so.
  // A(i, p) is 0 for p > i (lower) or p < i (upper): most products with these zeros are left out, so that a NaN of B need
  // not meet them.
  Triangle a_triangle = Triangle::none;
  bool c_lower = false;    // C(i, j) is of interest for j <= i alone; others may be left as they were
  bool one_chain = false;  // no sum is one of parts: the bits are those with a packed B
};

// Whether a product with packed_b reads B itself, whose columns are contiguous.
bool reads_b(std::int64_t k, std::int64_t n);

// Each element of C is a sum over k in a fixed order, which depends on m, n, k, the strides, the sign, the triangles,
// whether there is an epilogue, and the instruction set alone. k = 0 gives zeros (or C as it was), with the epilogue.
// Beyond 16 rows and 4096 products the sum is one of parts, each of 4096, unless there is a batch, an epilogue, a triangle, a
// packed B, a C of bf16 or `one_chain`. A C of bf16 is rounded once, from the whole sum in f32 with the epilogue and what C held.
template <class T>
void gemm(const GemmProblem<T>& problem);
// By these kernels of the current instruction set, whose kc, mc and nc may be others: they change no bit. Not with a packed_b,
// whose panels are those of the usual ones.
template <class T>
void gemm(const GemmProblem<T>& problem, const GemmKernels<T>& kernel);

// Of a packed B (k, n) on the current instruction set; T is B's type.
template <class T>
PanelLayout panel_layout(std::int64_t k, std::int64_t n);
// With room for its elements.
template <class T>
void pack_b(std::int64_t k, std::int64_t n, MatrixView<const T> b, T* out);

}  // namespace weft::detail
