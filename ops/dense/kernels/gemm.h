// Kernels of dense products C (m, n) = A (m, k) B (k, n). dense/gemm.cpp splits the matrices into the pieces that the
// kernels process.
#pragma once
#include <cstdint>
#include <type_traits>

#include "simd/family.h"
#include "weft/activation.h"
#include "weft/bfloat16.h"

namespace weft::detail {

constexpr std::int64_t largest_tile = 1024;  // maximum of mr × nr

// A type serves as the tag of a product:
//
//   tag        A and B   C and epilogue  sums
//   float      f32       f32             f32
//   double     f64       f64             f64
//   bfloat16   bf16      bf16            f32
//   Bf16ToF32  bf16      f32             f32
//
// The bias of the epilogue has the type of the sums.
struct Bf16ToF32 {};
template <class T>
struct GemmTypes {
  using In = T;   // elements of A and B
  using Out = T;  // elements of C, and of the operands with C's shape
};
template <>
struct GemmTypes<Bf16ToF32> {
  using In = bfloat16;
  using Out = float;
};
// The tag for the same A and B, with C in f32 even if T's C is bf16.
template <class T>
using WithF32 = std::conditional_t<std::is_same_v<T, bfloat16>, Bf16ToF32, T>;
template <class T>
using GemmIn = typename GemmTypes<T>::In;
template <class T>
using GemmOut = typename GemmTypes<T>::Out;
template <class T>
using GemmSum = Computed<GemmIn<T>>;
// Whether C itself accumulates the sums. Otherwise each sum is rounded into C once, after all of k.
template <class T>
inline constexpr bool holds_sums = std::is_same_v<GemmOut<T>, GemmSum<T>>;

// Kernels process k in units. A unit is one element of f32 or f64, or two adjacent elements of bf16. Two bf16 elements
// fill the 32 bits of a sum's lane, with the first element in the lower half. If k is odd, a 0 follows the last
// element. In panels the elements of a unit are adjacent.
template <class In>
inline constexpr std::int64_t unit = std::is_same_v<In, bfloat16> ? 2 : 1;
// k, rounded up to whole units.
template <class In>
[[gnu::always_inline]] constexpr std::int64_t padded(std::int64_t k) {
  return (k + unit<In> - 1) / unit<In> * unit<In>;
}

// The epilogue of a tile: C = residual + gate ⊙ act(C + bias). Null pointers stand for omitted operands. Rows of gate,
// residual and preactivation are contiguous. Element (i, j) of bias is bias[i * bias_row + j * bias_column].
template <class T>
struct GemmEpilogue {
  const GemmSum<T>* bias = nullptr;
  std::int64_t bias_row = 0, bias_column = 0;  // (0, 1): one bias per column of C; (1, 0): one per row
  Activation activation = Activation::none;
  const GemmOut<T>* gate = nullptr;
  std::int64_t gate_row = 0;
  const GemmOut<T>* residual = nullptr;
  std::int64_t residual_row = 0;
  GemmOut<T>* preactivation = nullptr;  // receives C + bias
  std::int64_t preactivation_row = 0;
};

// This function is always inlined, because kernels of every instruction set call it.
template <class T>
[[gnu::always_inline]] inline bool has_epilogue(const GemmEpilogue<T>& e) {
  return e.bias || e.activation != Activation::none || e.gate || e.residual || e.preactivation;
}

// Data that a tile prefetches for later tiles: the addresses b + p · b_step for some units p < k, and `a_lines` cache
// lines of each of mr rows of A, starting at a. Unless `sums` is null, the tile also prefetches the sums of the next
// tile, whose rows are as far apart as this tile's.
template <class T>
struct GemmPrefetch {
  const GemmIn<T>* b;
  std::int64_t b_step;
  const GemmIn<T>* a;
  std::int64_t a_lines;
  const GemmSum<T>* sums;
};

// The first `rows` × `columns` elements of a tile of C, whose rows are contiguous: C(i, j) = Σ_p A(i, p) B(p, j) over k
// units. A has mr rows. Unit p of row i begins at a[i · a_row + p · a_column], and its elements are adjacent. B has nr
// columns and is usually a packed panel. If the tile has all mr rows and nr columns, B may also be unpacked, with
// contiguous rows of whole units at a distance of b_row. In this case the panel is written to `packs`.
template <class T>
struct GemmTile {
  std::int64_t k;
  const GemmIn<T>* a;
  std::int64_t a_row, a_column;
  const GemmIn<T>* b;
  std::int64_t b_row;
  GemmIn<T>* packs;  // receives the panel, or null
  GemmSum<T>* sums;  // C itself, or the sums that are rounded to C
  std::int64_t sums_row, rows, columns;
  bool accumulate;  // adds to sums
  GemmOut<T>* c;    // output of the epilogue
  std::int64_t c_row;
  GemmPrefetch<T> prefetch;
  const GemmEpilogue<T>* epilogue;  // the epilogue of this tile, or null
  bool add_to_c;                    // see GemmKernels::epilogue
};

// The layout of a packed B (k, n): blocks of k, each a sequence of panels of nr columns, each panel a sequence of rows
// of nr elements. All code that packs B or reads a packed B uses this layout.
struct PanelLayout {
  std::int64_t k, columns;  // rounded up to whole units and panels
  std::int64_t block;       // rows of a block, in whole units; the last block may have fewer

  std::int64_t elements() const { return k * columns; }
  // Returns the offset of row p, the first row of a block, in the panel that begins with column j. This function is
  // always inlined, because kernels of every instruction set call it.
  [[gnu::always_inline]] std::int64_t at(std::int64_t p, std::int64_t j) const {
    return p * columns + j * (k - p < block ? k - p : block);
  }
};

// How tiles read an A with contiguous rows: in place, or packed like any other A. None of the values is 0, so that code
// can detect a table entry that was never set.
enum class RowsOfA : std::int64_t { in_place = 1, packed };

// Strides are in elements. With `accumulate`, kernels add to the sums instead of overwriting them.
template <class T>
struct GemmKernels {
  static constexpr std::string_view name = std::is_same_v<GemmIn<T>, bfloat16> ? "gemm_bf16" : "gemm";
  using In = GemmIn<T>;
  using Out = GemmOut<T>;
  using Sum = GemmSum<T>;
  // A tile of C is mr × nr. A packed block holds kc of k (see gemm_kernels). A task computes mc × nc of C.
  std::int64_t mr, nr, kc, mc, nc;
  RowsOfA rows_of_a;

  // Packs n rows or columns of k elements into panels of mr (pack_a) or nr (pack_b):
  // out[panel][p][i] = sign · x[(panel · width + i) · stride_n + p · stride_k]
  // Elements beyond n are 0. The elements of a unit are adjacent.
  using Pack = void (*)(std::int64_t n, std::int64_t k, const In* x, std::int64_t stride_n, std::int64_t stride_k,
                        Sum sign, In* out) noexcept;
  Pack pack_a, pack_b;
  void (*tile)(const GemmTile<T>& tile) noexcept;
  // Computes C from its sums. If C holds its sums, they are in C itself. Otherwise, `add` makes the epilogue start from
  // C + sums.
  void (*epilogue)(const GemmEpilogue<T>& epilogue, std::int64_t m, std::int64_t n, const Sum* sums,
                   std::int64_t sums_row, Out* c, std::int64_t c_row, bool add) noexcept;

  // For products of few rows, without packing. Rows of A and columns of B are contiguous along k:
  // C(i, j) = Σ_p a[i · a_row + p] b[j · b_column + p].
  void (*dot)(std::int64_t m, std::int64_t n, std::int64_t k, const In* a, std::int64_t a_row, const In* b,
              std::int64_t b_column, Sum* c, std::int64_t c_row, std::int64_t c_column, bool accumulate) noexcept;
  // Computes the same bits as dot from a packed B, for columns j … j+n, where j is the first column of a panel. Rows of
  // C are contiguous, and c is C's element (0, j).
  void (*dot_panels)(std::int64_t m, std::int64_t n, std::int64_t k, const In* a, std::int64_t a_row, const In* b,
                     const PanelLayout& layout, std::int64_t j, Sum* c, std::int64_t c_row, bool accumulate) noexcept;
  // For contiguous rows of B and C: C(i, j) = Σ_p a[i · a_row + p · a_column] b[p · b_row + j].
  void (*rows)(std::int64_t m, std::int64_t n, std::int64_t k, const In* a, std::int64_t a_row, std::int64_t a_column,
               const In* b, std::int64_t b_row, Sum* c, std::int64_t c_row, bool accumulate) noexcept;
  // Computes n dot products whose elements are neighbors in memory: y[i] = Σ_p a[p · a_stride + i] b[p · b_stride + i].
  void (*batched_dot)(std::int64_t n, std::int64_t k, const In* a, std::int64_t a_stride, const In* b,
                      std::int64_t b_stride, Sum* y, bool accumulate) noexcept;
};

}  // namespace weft::detail
