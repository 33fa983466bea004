// Kernels of dense products C (m, n) = A (m, k) B (k, n); dense/gemm.cpp cuts the matrices into the pieces they see.
#pragma once
#include <cstdint>

#include "simd/family.h"
#include "weft/activation.h"

namespace weft::detail {

constexpr std::int64_t largest_tile = 1024;  // elements that mr × nr may have

// C = residual + gate ⊙ act(C + bias), over a tile. A null pointer stands for what is left out. Rows of gate, residual
// and preactivation are contiguous; element (i, j) of bias is bias[i * bias_row + j * bias_column].
template <class T>
struct GemmEpilogue {
  const T* bias = nullptr;
  std::int64_t bias_row = 0, bias_column = 0;  // (0, 1): one for each column of C; (1, 0): one for each row
  Activation activation = Activation::none;
  const T* gate = nullptr;
  std::int64_t gate_row = 0;
  const T* residual = nullptr;
  std::int64_t residual_row = 0;
  T* preactivation = nullptr;  // receives C + bias
  std::int64_t preactivation_row = 0;
};

// What a tile prefetches for those after it: b + p · b_step for each p < k; `a_lines` cache lines of each of mr rows of
// A, from a on.
template <class T>
struct GemmPrefetch {
  const T* b;
  std::int64_t b_step;
  const T* a;
  std::int64_t a_lines;
};

// The first `rows` × `columns` elements of a tile of C, whose rows are contiguous: C(i, j) = Σ_p A(i, p) B(p, j), p < k.
// A has mr rows, A(i, p) = a[i · a_row + p · a_column]. B has nr columns in contiguous rows, B(p, j) = b[p · b_row + j]:
// a packed panel, b_row = nr; or B itself, if the tile has all mr rows and nr columns and `packs` receives the panel.
template <class T>
struct GemmTile {
  std::int64_t k;
  const T* a;
  std::int64_t a_row, a_column;
  const T* b;
  std::int64_t b_row;
  T* packs;  // or null
  T* c;
  std::int64_t c_row, rows, columns;
  bool accumulate;
  GemmPrefetch<T> prefetch;
  const GemmEpilogue<T>* epilogue;  // of this tile, or null
};

// Where the elements of a packed B (k, n) lie: blocks of k, in each one panel of nr columns after the other, in each
// panel one row of nr elements after the other. All that packs B or reads it asks here.
struct PanelLayout {
  std::int64_t k, columns;  // of whole panels
  std::int64_t block;       // rows of a block; of the last one fewer

  std::int64_t elements() const { return k * columns; }
  // Row p, the first of a block, of the panel that begins with column j.
  // Always inline: kernels of every instruction set call it.
  [[gnu::always_inline]] std::int64_t at(std::int64_t p, std::int64_t j) const {
    return p * columns + j * (k - p < block ? k - p : block);
  }
};

// Strides are in elements. `accumulate` adds to C instead of writing it.
template <class T>
struct GemmKernels {
  static constexpr const char* header = __FILE__;
  // A tile of C is mr × nr; a packed block holds kc of k. mc × nc of C is a task's share.
  std::int64_t mr, nr, kc, mc, nc;

  // Packs n rows or columns of k elements into panels of mr (pack_a) or nr (pack_b):
  // out[panel][p][i] = sign · x[(panel · width + i) · stride_n + p · stride_k], 0 beyond n.
  using Pack = void (*)(std::int64_t n, std::int64_t k, const T* x, std::int64_t stride_n, std::int64_t stride_k,
                        T sign, T* out) noexcept;
  Pack pack_a, pack_b;
  void (*tile)(const GemmTile<T>& tile) noexcept;
  void (*epilogue)(const GemmEpilogue<T>& epilogue, std::int64_t m, std::int64_t n, T* c, std::int64_t row) noexcept;

  // Without packing, for few rows. Rows of A and columns of B are contiguous (elements of k side by side):
  // C(i, j) = Σ_p a[i · a_row + p] b[j · b_column + p].
  void (*dot)(std::int64_t m, std::int64_t n, std::int64_t k, const T* a, std::int64_t a_row, const T* b,
              std::int64_t b_column, T* c, std::int64_t c_row, std::int64_t c_column, bool accumulate) noexcept;
  // The same bits, from all of a packed B: columns j … j+n, of which j is a panel's first one. Rows of C are contiguous,
  // c is its element (0, j).
  void (*dot_panels)(std::int64_t m, std::int64_t n, std::int64_t k, const T* a, std::int64_t a_row, const T* b,
                     const PanelLayout& layout, std::int64_t j, T* c, std::int64_t c_row, bool accumulate) noexcept;
  // Rows of B and C are contiguous: C(i, j) = Σ_p a[i · a_row + p · a_column] b[p · b_row + j].
  void (*rows)(std::int64_t m, std::int64_t n, std::int64_t k, const T* a, std::int64_t a_row, std::int64_t a_column,
               const T* b, std::int64_t b_row, T* c, std::int64_t c_row, bool accumulate) noexcept;
  // A batch of n dot products, neighbours in memory: y[i] = Σ_p a[p · a_stride + i] b[p · b_stride + i].
  void (*batched_dot)(std::int64_t n, std::int64_t k, const T* a, std::int64_t a_stride, const T* b,
                      std::int64_t b_stride, T* y, bool accumulate) noexcept;
};

}  // namespace weft::detail
