// Kernels of dense products C (m, n) = A (m, k) B (k, n); dense/gemm.cpp cuts the matrices into the pieces they see.
#pragma once
#include <cstdint>
#include <type_traits>

#include "simd/family.h"
#include "weft/activation.h"
#include "weft/bfloat16.h"

namespace weft::detail {

constexpr std::int64_t largest_tile = 1024;  // elements that mr × nr may have

// Products are named by a type: float and double are of matrices of it alone, bfloat16 of such, with sums in f32, and
// Bf16ToF32 of A and B in bf16 with C, and what its epilogue has, in f32.
struct Bf16ToF32 {};
template <class T>
struct GemmTypes {
  using In = T;   // elements of A and B
  using Out = T;  // of C, and of what has its shape
};
template <>
struct GemmTypes<Bf16ToF32> {
  using In = bfloat16;
  using Out = float;
};
// The product of the same matrices with C in f32 where T's is bf16.
template <class T>
using WithF32 = std::conditional_t<std::is_same_v<T, bfloat16>, Bf16ToF32, T>;
template <class T>
using GemmIn = typename GemmTypes<T>::In;
template <class T>
using GemmOut = typename GemmTypes<T>::Out;
template <class T>
using GemmSum = Computed<GemmIn<T>>;
// Whether C holds its sums; else they are rounded once, when all of k is added.
template <class T>
inline constexpr bool holds_sums = std::is_same_v<GemmOut<T>, GemmSum<T>>;

// Kernels take k by units: an element of f32 or f64, two neighbours of bf16, which fill the 32 bits of a sum's lane (the
// first is the lower half; the last of an odd k has a 0 beside it). In panels a unit's elements are side by side.
template <class In>
inline constexpr std::int64_t unit = std::is_same_v<In, bfloat16> ? 2 : 1;
// k elements with what fills the last unit.
template <class In>
[[gnu::always_inline]] constexpr std::int64_t padded(std::int64_t k) {
  return (k + unit<In> - 1) / unit<In> * unit<In>;
}

// C = residual + gate ⊙ act(C + bias), over a tile. A null pointer stands for what is left out. Rows of gate, residual
// and preactivation are contiguous; element (i, j) of bias is bias[i * bias_row + j * bias_column].
template <class T>
struct GemmEpilogue {
  const GemmSum<T>* bias = nullptr;
  std::int64_t bias_row = 0, bias_column = 0;  // (0, 1): one for each column of C; (1, 0): one for each row
  Activation activation = Activation::none;
  const GemmOut<T>* gate = nullptr;
  std::int64_t gate_row = 0;
  const GemmOut<T>* residual = nullptr;
  std::int64_t residual_row = 0;
  GemmOut<T>* preactivation = nullptr;  // receives C + bias
  std::int64_t preactivation_row = 0;
};

// Always inline: kernels of every instruction set call it.
template <class T>
[[gnu::always_inline]] inline bool has_epilogue(const GemmEpilogue<T>& e) {
  return e.bias || e.activation != Activation::none || e.gate || e.residual || e.preactivation;
}

// What a tile prefetches for those after it: b + p · b_step for some units p < k; `a_lines` cache lines of each of mr rows
// of A, from a on; and the next tile's sums, if not null, with rows as far apart as its own.
template <class T>
struct GemmPrefetch {
  const GemmIn<T>* b;
  std::int64_t b_step;
  const GemmIn<T>* a;
  std::int64_t a_lines;
  const GemmSum<T>* sums;
};

// The first `rows` × `columns` elements of a tile of C, whose rows are contiguous: C(i, j) = Σ_p A(i, p) B(p, j) over k
// units. A has mr rows; unit p of row i begins at a[i · a_row + p · a_column], its elements side by side. B has nr
// columns: a packed panel; or, if the tile has all mr rows and nr columns and `packs` receives the panel, B itself, whose
// rows, b_row apart, are contiguous, of whole units.
template <class T>
struct GemmTile {
  std::int64_t k;
  const GemmIn<T>* a;
  std::int64_t a_row, a_column;
  const GemmIn<T>* b;
  std::int64_t b_row;
  GemmIn<T>* packs;  // or null
  GemmSum<T>* sums;  // C, or what is rounded to it
  std::int64_t sums_row, rows, columns;
  bool accumulate;  // to sums
  GemmOut<T>* c;    // of the epilogue
  std::int64_t c_row;
  GemmPrefetch<T> prefetch;
  const GemmEpilogue<T>* epilogue;  // of this tile, or null
  bool add_to_c;                    // see GemmKernels::epilogue
};

// Where the elements of a packed B (k, n) lie: blocks of k, in each one panel of nr columns after the other, in each
// panel one row of nr elements after the other. All that packs B or reads it asks here.
struct PanelLayout {
  std::int64_t k, columns;  // of whole units and panels
  std::int64_t block;       // rows of a block, whole units; of the last one fewer

  std::int64_t elements() const { return k * columns; }
  // Row p, the first of a block, of the panel that begins with column j.
  // Always inline: kernels of every instruction set call it.
  [[gnu::always_inline]] std::int64_t at(std::int64_t p, std::int64_t j) const {
    return p * columns + j * (k - p < block ? k - p : block);
  }
};

// How tiles take an A of contiguous rows: where it is, or packed as any other. Neither is 0, which a table has where nothing
// was written.
enum class RowsOfA : std::int64_t { in_place = 1, packed };

// Strides are in elements. `accumulate` adds to the sums instead of writing them.
template <class T>
struct GemmKernels {
  static constexpr std::string_view name = std::is_same_v<GemmIn<T>, bfloat16> ? "gemm_bf16" : "gemm";
  using In = GemmIn<T>;
  using Out = GemmOut<T>;
  using Sum = GemmSum<T>;
  // A tile of C is mr × nr; a packed block holds kc of k (see gemm_kernels). mc × nc of C is a task's share.
  std::int64_t mr, nr, kc, mc, nc;
  RowsOfA rows_of_a;

  // Packs n rows or columns of k elements into panels of mr (pack_a) or nr (pack_b):
  // out[panel][p][i] = sign · x[(panel · width + i) · stride_n + p · stride_k], 0 beyond n, and units beside one another.
  using Pack = void (*)(std::int64_t n, std::int64_t k, const In* x, std::int64_t stride_n, std::int64_t stride_k,
                        Sum sign, In* out) noexcept;
  Pack pack_a, pack_b;
  void (*tile)(const GemmTile<T>& tile) noexcept;
  // C from its sums, which may be C itself. `add`: from C + sums, where C doesn't hold sums.
  void (*epilogue)(const GemmEpilogue<T>& epilogue, std::int64_t m, std::int64_t n, const Sum* sums,
                   std::int64_t sums_row, Out* c, std::int64_t c_row, bool add) noexcept;

  // Without packing, for few rows. Rows of A and columns of B are contiguous (elements of k side by side):
  // C(i, j) = Σ_p a[i · a_row + p] b[j · b_column + p].
  void (*dot)(std::int64_t m, std::int64_t n, std::int64_t k, const In* a, std::int64_t a_row, const In* b,
              std::int64_t b_column, Sum* c, std::int64_t c_row, std::int64_t c_column, bool accumulate) noexcept;
  // The same bits, from all of a packed B: columns j … j+n, of which j is a panel's first one. Rows of C are contiguous,
  // c is its element (0, j).
  void (*dot_panels)(std::int64_t m, std::int64_t n, std::int64_t k, const In* a, std::int64_t a_row, const In* b,
                     const PanelLayout& layout, std::int64_t j, Sum* c, std::int64_t c_row, bool accumulate) noexcept;
  // Rows of B and C are contiguous: C(i, j) = Σ_p a[i · a_row + p · a_column] b[p · b_row + j].
  void (*rows)(std::int64_t m, std::int64_t n, std::int64_t k, const In* a, std::int64_t a_row, std::int64_t a_column,
               const In* b, std::int64_t b_row, Sum* c, std::int64_t c_row, bool accumulate) noexcept;
  // A batch of n dot products, neighbours in memory: y[i] = Σ_p a[p · a_stride + i] b[p · b_stride + i].
  void (*batched_dot)(std::int64_t n, std::int64_t k, const In* a, std::int64_t a_stride, const In* b,
                      std::int64_t b_stride, Sum* y, bool accumulate) noexcept;
};

}  // namespace weft::detail
