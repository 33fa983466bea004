// The kernels of GemmKernels<T>, which gemm.cpp and gemm_bf16.cpp compile.
#pragma once
#include "dense/kernels/gemm.h"

#include "dense/kernels/gemm_blocks.h"
#include "dense/kernels/gemm_dot_panels.h"
#include "dense/kernels/gemm_dots.h"
#include "dense/kernels/gemm_pack.h"
#include "dense/kernels/gemm_units.h"
#include "pointwise/kernels/activation_vectors.h"
#include "simd/registers.h"

namespace weft::detail::WEFT_ISA {
namespace {

constexpr std::int64_t line = 64;  // bytes of a cache line
// The distance at which a tile prefetches B, in units along k (kernels/gemm.h). Larger: B is prefetched so early that
// L1 can't keep all of it. Smaller: B is prefetched too late for the latency of L2.
// bench: weft-bench --benchmark_filter=gemm-nn
constexpr std::int64_t prefetch_steps = 24;

// Prefetches `bytes` bytes, starting at p.
template <std::int64_t bytes, class T>
WEFT_INLINE inline void prefetch(const T* p) noexcept {
  constexpr int lines = static_cast<int>((bytes + line - 1) / line);
  repeat<lines>([&](auto i) WEFT_INLINE { __builtin_prefetch(p + i.value * line / std::int64_t{sizeof(T)}); });
}

// Computes C from its sums alone.
template <class T>
void round_sums(std::int64_t m, std::int64_t n, const GemmSum<T>* sums, std::int64_t sums_row, GemmOut<T>* c,
                std::int64_t c_row) noexcept {
  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t j = 0; j < n; j += simd::lanes<GemmSum<T>>)
      write(c + i * c_row + j, read(sums + i * sums_row + j, n - j), n - j);
}

// Processes one column of vectors after the other. With an activation, it processes some rows at a time.
template <class T>
void epilogue(const GemmEpilogue<T>& e, std::int64_t m, std::int64_t n, const GemmSum<T>* sums, std::int64_t sums_row,
              GemmOut<T>* c, std::int64_t c_row, bool add) noexcept {
  using V = Vec<GemmSum<T>>;
  constexpr std::int64_t lanes = simd::lanes<GemmSum<T>>, max_rows = 16;
  if (!holds_sums<T> && !add && !has_epilogue(e)) return round_sums<T>(m, n, sums, sums_row, c, c_row);
  GemmSum<T> column[max_rows * lanes];
  for (std::int64_t j = 0; j < n; j += lanes) {
    const std::int64_t rest = n - j;
    const V bias = e.bias && e.bias_column != 0 ? read(e.bias + j, rest) : V(0);
    const auto preactivation = [&](std::int64_t i) WEFT_INLINE {
      V y = read(sums + i * sums_row + j, rest);
      if (!holds_sums<T> && add) y = y + read(c + i * c_row + j, rest);
      if (e.bias) y = y + (e.bias_column != 0 ? bias : V(e.bias[i * e.bias_row]));
      if (e.preactivation) write(e.preactivation + i * e.preactivation_row + j, y, rest);
      return y;
    };
    const auto finish = [&](std::int64_t i, V y) WEFT_INLINE {
      if (e.gate) y = y * read(e.gate + i * e.gate_row + j, rest);
      if (e.residual) y = y + read(e.residual + i * e.residual_row + j, rest);
      write(c + i * c_row + j, y, rest);
    };
    if (e.activation == Activation::none) {
      for (std::int64_t i = 0; i < m; ++i) finish(i, preactivation(i));
      continue;
    }
    for (std::int64_t first = 0; first < m; first += max_rows) {
      const std::int64_t rows = m - first < max_rows ? m - first : max_rows;
      for (std::int64_t r = 0; r < rows; ++r) simd::store(column + r * lanes, preactivation(first + r));
      computed_values(e.activation, rows * lanes, column, column);
      for (std::int64_t r = 0; r < rows; ++r) finish(first + r, simd::load(column + r * lanes));
    }
  }
}

// Prefetches a row of the next tile's sums and of the operands that this tile's epilogue reads and writes, and a part
// of the next A. This function is always inlined, because g++ considers a function that only prefetches to have no
// effect and removes the call.
template <class T>
WEFT_INLINE inline void prefetch_row(const GemmTile<T>& t, std::int64_t i) noexcept {
  constexpr std::int64_t row = blocks.nv * simd::lanes<GemmSum<T>>, row_bytes = row * std::int64_t{sizeof(GemmOut<T>)};
  constexpr std::int64_t per_line = line / std::int64_t{sizeof(GemmIn<T>)};
  if (t.prefetch.sums) prefetch<row * std::int64_t{sizeof(GemmSum<T>)}>(t.prefetch.sums + i * t.sums_row);
  for (std::int64_t l = 0; l < t.prefetch.a_lines; ++l)
    __builtin_prefetch(t.prefetch.a + i * t.a_row + l * per_line, 0, 2);
  if (t.epilogue == nullptr) return;
  const GemmEpilogue<T>& e = *t.epilogue;
  if (!holds_sums<T>) prefetch<row_bytes>(t.c + i * t.c_row);
  if (e.preactivation) prefetch<row_bytes>(e.preactivation + i * e.preactivation_row);
  if (e.gate) prefetch<row_bytes>(e.gate + i * e.gate_row);
  if (e.residual) prefetch<row_bytes>(e.residual + i * e.residual_row);
}

// Loads the tile's previous sums, or zeros. Every product is added to a single accumulator, in the order of k, so that
// no bit depends on how k is split into blocks.
template <class T, int R, int V>
WEFT_INLINE inline void load_sums(const GemmTile<T>& t, Vec<GemmSum<T>>* sums) noexcept {
  using Sum = GemmSum<T>;
  constexpr std::int64_t lanes = simd::lanes<Sum>;
  if (!t.accumulate) {
    repeat<R * V>([&](auto s) WEFT_INLINE { sums[s.value] = Vec<Sum>(0); });
  } else if (t.rows == R && t.columns == V * lanes) {
    repeat<R * V>([&](auto s) WEFT_INLINE {
      sums[s.value] = simd::load(t.sums + s.value / V * t.sums_row + s.value % V * lanes);
    });
  } else {
    Sum whole[R * V * lanes] = {};
    for (std::int64_t i = 0; i < t.rows; ++i)
      for (std::int64_t j = 0; j < t.columns; j += lanes)
        simd::store(whole + i * V * lanes + j, read(t.sums + i * t.sums_row + j, t.columns - j));
    repeat<R * V>([&](auto s) WEFT_INLINE { sums[s.value] = simd::load(whole + s.value * lanes); });
  }
}

template <class T, int R, int V>
WEFT_INLINE inline void store_sums(const GemmTile<T>& t, const Vec<GemmSum<T>>* sums) noexcept {
  using Sum = GemmSum<T>;
  constexpr std::int64_t lanes = simd::lanes<Sum>;
  if (t.rows == R && t.columns == V * lanes) {
    repeat<R * V>([&](auto s) WEFT_INLINE {
      simd::store(t.sums + s.value / V * t.sums_row + s.value % V * lanes, sums[s.value]);
    });
  } else {
    Sum whole[R * V * lanes];
    repeat<R * V>([&](auto s) WEFT_INLINE { simd::store(whole + s.value * lanes, sums[s.value]); });
    for (std::int64_t i = 0; i < t.rows; ++i)
      for (std::int64_t j = 0; j < t.columns; j += lanes)
        write(t.sums + i * t.sums_row + j, simd::load(whole + i * V * lanes + j), t.columns - j);
  }
}

// Element number `Part` of one unit from each of R rows of A, for products with vectors of B. If the instruction set
// has products with one lane of a vector (NEON), a panel's row is loaded only once.
template <class T, int R, int Part>
struct RowsAt {
#if WEFT_HAS_LANE_PRODUCTS
  static_assert(blocks.rows_of_a == RowsOfA::packed);
  static constexpr int lanes = static_cast<int>(simd::lanes<T>), vectors = (R + lanes - 1) / lanes;
  Vec<T> loaded[vectors];
  WEFT_INLINE explicit RowsAt(const T* panel) noexcept {
    repeat<vectors>(
        [&](auto v) WEFT_INLINE { loaded[v.value] = element<Part, T>(load_units(panel + unit<T> * v.value * lanes)); });
  }
  // Adds to `sums` the products of row I's element and V vectors of columns.
  template <int I, int V>
  WEFT_INLINE void add_products(const T*, const Vec<T>* columns, Vec<T>* sums) const noexcept {
    repeat<V>([&](auto v) WEFT_INLINE {
      sums[v.value] = multiply_add_lane<T, I % lanes>(loaded[I / lanes], columns[v.value], sums[v.value]);
    });
  }
#else
  WEFT_INLINE explicit RowsAt(const T*) noexcept {}
  template <int I, int V>
  WEFT_INLINE void add_products(const T* p, const Vec<T>* columns, Vec<T>* sums) const noexcept {
    const Vec<T> x = element<Part, T>(broadcast_unit(p));
    repeat<V>([&](auto v)
                  WEFT_INLINE { sums[v.value] = multiply_add_elements<T>(x, columns[v.value], sums[v.value]); });
  }
#endif
};

// The micro-kernel: R rows and V vectors of a tile. If `Packs` is true, it packs B while it multiplies. Otherwise, it
// reads a packed B. If `Interleaved` is true, A is a panel of interleaved rows. Otherwise, A has contiguous rows. This
// function is never inlined, so that all registers are available for the sums. Its steps:
//
//   prefetch the next tile's sums and A, and the operands of the epilogue
//   sums = the previous sums, or 0
//   for each group of `unrolled` units of k:
//     prefetch part of the next B
//     for each unit:
//       for each part of the unit (bf16 without pair products: lower, then upper elements; otherwise one part):
//         load V vectors of B (Packs: and write them to the panel)
//         prefetch B prefetch_steps ahead
//         for each of the R rows: sums of the row += element of A · vectors of B
//   the remaining units one by one
//   store the sums
template <class T, int R, int V, bool Interleaved, bool Packs = false>
[[gnu::noinline]] void part_of_tile(const GemmTile<T>& t) noexcept {
  using In = GemmIn<T>;
  constexpr std::int64_t lanes = simd::lanes<In>, both = unit<In>, units_row = both * blocks.nv * lanes,
                         width = V * lanes * both * std::int64_t{sizeof(In)};
  const std::int64_t b_element_row = t.b_row, b_row = Packs ? both * b_element_row : units_row;  // of one unit
  const std::int64_t a_row = Interleaved ? both : t.a_row, a_step = both * (Interleaved ? blocks.mr : 1);
  for (std::int64_t row = 0; row < R; ++row) prefetch_row(t, row);
  Vec<In> sums[R * V];
  load_sums<T, R, V>(t, sums);
  // The rows of a panel share one pointer. Separate rows have a pointer each if there are enough registers. Otherwise
  // four rows share one pointer. The address of a row is then the pointer plus -1, 0, 1 or 2 times the stride.
  constexpr int shared = Interleaved ? R : R > 8 ? 4 : 1, second = !Interleaved && shared == 4 ? 1 : 0;
  constexpr int pointers = (R + shared - 1) / shared;
  const In* a[pointers];
  repeat<pointers>([&](auto q) WEFT_INLINE { a[q.value] = t.a + (shared * q.value + second) * a_row; });
  constexpr int unrolled = blocks.unrolled;
  const In *b = t.b, *next = t.prefetch.b;
  const std::int64_t next_step = unrolled * t.prefetch.b_step;
  In* packs = t.packs;
  // Adds the products of a unit and one row of B's panel. Without pair products, bf16 pairs take two parts: first the
  // products of the lower elements, then those of the upper elements. The elements of both parts would not fit into the
  // registers.
  constexpr int parts = products_of_unit<In>;
  const auto add_products = [&](auto index) WEFT_INLINE {
    constexpr int s = index.value / parts, part = index.value % parts;
    const In* row = b + s * b_row;
    In* packed = Packs ? packs + s * units_row : nullptr;
    Vec<In> columns[V];
    repeat<V>([&](auto v) WEFT_INLINE {
      constexpr std::int64_t at = both * v.value * lanes;
      if constexpr (Packs && part == 0) {
        columns[v.value] = read_rows(row + v.value * lanes, b_element_row, both, lanes);
        store_units(packed + at, columns[v.value]);
      } else {
        columns[v.value] = load_units((Packs ? packed : row) + at);
      }
      columns[v.value] = element<part, In>(columns[v.value]);
    });
    if constexpr (Packs && part == 0)
      repeat<both>([&](auto r)
                       WEFT_INLINE { prefetch<width / both>(row + prefetch_steps * b_row + r.value * b_element_row); });
    else if constexpr (part == 0 && s * width % line == 0) prefetch<width>(row + prefetch_steps * b_row);
    const auto rows_at = RowsAt<In, R, part>(a[0] + s * a_step);
    repeat<R>([&](auto i) WEFT_INLINE {
      const In* at = a[i.value / shared] + (i.value % shared - second) * a_row + s * a_step;
      rows_at.template add_products<i.value, V>(at, columns, sums + i.value * V);
    });
    // Makes the compiler complete the products at this point. If the compiler interleaved them with the following
    // products, the operands of both would not fit into the registers. With fused multiply-adds it is enough to pin the
    // pointers of the operands. Without them, the sums must be pinned.
#if WEFT_HAS_FMA
    simd::keep_in_register(b);
    repeat<pointers>([&](auto q) WEFT_INLINE { simd::keep_in_register(a[q.value]); });
#else
    repeat<R * V>([&](auto sum) WEFT_INLINE { simd::keep_in_register(sums[sum.value]); });
#endif
  };
  const auto advance = [&](std::int64_t steps) WEFT_INLINE {
    b += steps * b_row;
    if constexpr (Packs) packs += steps * units_row;
    repeat<pointers>([&](auto q) WEFT_INLINE { a[q.value] += steps * a_step; });
  };
  std::int64_t left = t.k;
  for (; left >= unrolled; left -= unrolled) {
    __builtin_prefetch(next, 0, 2);
    next += next_step;
    repeat<unrolled * parts>(add_products);
    advance(unrolled);
  }
  for (; left > 0; --left) {
    repeat<parts>(add_products);
    advance(1);
  }
  store_sums<T, R, V>(t, sums);
}

template <class T, int R>
void rows_of_tile(const GemmTile<T>& t) noexcept {
  if (t.columns <= simd::lanes<GemmSum<T>>) part_of_tile<T, R, 1, true>(t);
  else part_of_tile<T, R, blocks.nv, true>(t);
}

// Computes a tile with the rows of A read in place.
template <class T>
void tile_of_rows([[maybe_unused]] const GemmTile<T>& t) noexcept {
  if constexpr (blocks.rows_of_a == RowsOfA::in_place) {
    if (t.packs) part_of_tile<T, blocks.mr, blocks.nv, false, true>(t);
    else if (t.columns > simd::lanes<GemmSum<T>>) part_of_tile<T, blocks.mr, blocks.nv, false>(t);
    else part_of_tile<T, blocks.mr, 1, false>(t);
  }
}

template <class T>
void tile(const GemmTile<T>& t) noexcept {
  constexpr int third = blocks.mr / 3;
  const bool interleaved = t.a_column != unit<GemmIn<T>>;
  if (t.packs && interleaved) part_of_tile<T, blocks.mr, blocks.nv, true, true>(t);
  else if (!interleaved) tile_of_rows(t);
  else if (t.rows <= third) rows_of_tile<T, third>(t);
  else if (t.rows <= 2 * third) rows_of_tile<T, 2 * third>(t);
  else rows_of_tile<T, blocks.mr>(t);
  // the epilogue runs while the sums are in cache
  if (t.epilogue) epilogue(*t.epilogue, t.rows, t.columns, t.sums, t.sums_row, t.c, t.c_row, t.add_to_c);
}

template <class T>
constexpr GemmKernels<T> table() {
  using In = GemmIn<T>;
  constexpr int nr = blocks.nv * static_cast<int>(simd::lanes<In>);
  static_assert(blocks.mr * nr <= largest_tile);
  static_assert(blocks.mr % unit<In> == 0);
  static_assert(blocks.mc % blocks.mr == 0 && blocks.nc % nr == 0);
  return {.mr = blocks.mr,
          .nr = nr,
          .kc = is_pairs<In>      ? blocks.kc_bf16
                : sizeof(In) == 4 ? blocks.kc_f32
                                  : blocks.kc_f64,
          .mc = blocks.mc,
          .nc = blocks.nc,
          .rows_of_a = blocks.rows_of_a,
          .pack_a = pack<In, blocks.mr>,
          .pack_b = pack<In, nr>,
          .tile = tile<T>,
          .epilogue = epilogue<T>,
          .dot = dot<In>,
          .dot_panels = dot_panels<In>,
          .rows = rows<In>,
          .batched_dot = batched_dot<In>};
}

}  // namespace
}  // namespace weft::detail::WEFT_ISA
