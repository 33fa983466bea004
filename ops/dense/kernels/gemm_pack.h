// Packs A and B into consecutive panels, in the order in which tiles read the elements.
#pragma once
#include "dense/kernels/gemm_units.h"

namespace weft::detail::WEFT_ISA {

// Adjacent vectors write a panel's row of W units. If W is not a multiple of the vector's length, the last vector
// overlaps its neighbor. A single vector that is wider than W reaches into the following row, which is written next.
template <class T, int W>
struct PanelRow {
  static constexpr std::int64_t lanes = simd::lanes<T>, vectors = (W + lanes - 1) / lanes;
  static constexpr std::int64_t width = W < lanes ? W : lanes;  // units per vector

  static constexpr std::int64_t first(std::int64_t vector) {
    return vector * lanes + width > W ? W - width : vector * lanes;
  }
  // If `last` is true, no row of this panel follows.
  WEFT_INLINE static void write(T* row, std::int64_t vector, Vec<T> v, bool last) noexcept {
    if (width < lanes && last) write_units(row + unit<T> * first(vector), v, width);
    else store_units(row + unit<T> * first(vector), v);
  }
};

// Packs the first n <= W rows of a panel whose columns are contiguous. The other rows are 0.
template <class T, int W>
void pack_columns(std::int64_t n, std::int64_t k, const T* x, std::int64_t stride_k, Computed<T> sign,
                  T* out) noexcept {
  using Row = PanelRow<T, W>;
  const Sign<T> factor(sign);
  for (std::int64_t p = 0; p < k; p += unit<T>, x += unit<T> * stride_k, out += unit<T> * W)
    repeat<Row::vectors>([&](auto v) WEFT_INLINE {
      const std::int64_t first = Row::first(v.value), there = n - first < Row::width ? n - first : Row::width;
      Row::write(out, v.value, there > 0 ? factor * read_rows(x + first, stride_k, k - p, there) : Vec<T>(0),
                 p + unit<T> >= k);
    });
}

// Does the same as pack_columns for a panel whose rows are contiguous, in squares of lanes × lanes units.
template <class T, int W>
void pack_rows(std::int64_t n, std::int64_t k, const T* x, std::int64_t stride_n, Computed<T> sign, T* out) noexcept {
  using Row = PanelRow<T, W>;
  constexpr std::int64_t lanes = Row::lanes, step = unit<T> * lanes;
  const Sign<T> factor(sign);
  std::int64_t p = 0;
  for (; p + step <= k; p += step)
    repeat<Row::vectors>([&](auto square) WEFT_INLINE {
      constexpr std::int64_t first = Row::first(square.value);
      Vec<T> v[lanes];
      repeat<lanes>([&](auto i) WEFT_INLINE {
        const bool there = i.value < Row::width && (n == W || first + i.value < n);
        v[i.value] = there ? factor * load_units(x + (first + i.value) * stride_n + p) : Vec<T>(0);
      });
      simd::transpose(v);
      repeat<lanes>([&](auto i) WEFT_INLINE {
        Row::write(out + p * W + unit<T> * i.value * W, square.value, v[i.value],
                   p + step >= k && i.value + 1 == lanes);
      });
    });
  for (; p < k; p += unit<T>)
    for (std::int64_t i = 0; i < W; ++i)
      copy_unit(x + i * stride_n + p, 1, i < n ? k - p : 0, sign, out + p * W + unit<T> * i);
}

// Packs all panels. If the columns of x are contiguous, packs a few rows at a time for all panels, so that each row is
// read as one stream.
template <class T, int W>
void pack(std::int64_t n, std::int64_t k, const T* x, std::int64_t stride_n, std::int64_t stride_k, Computed<T> sign,
          T* out) noexcept {
  const auto panels = [&](auto&& pack_panel) WEFT_INLINE {
    for (std::int64_t i = 0; i < n; i += W) pack_panel(n - i < W ? n - i : W, x + i * stride_n, out + i * padded<T>(k));
  };
  if (stride_n == 1) {
    // The number of rows that are packed together. Each row is a stream of x. Larger: there are more streams than the
    // hardware prefetcher follows. Smaller: each panel is written in shorter runs.
    // bench: weft-bench --benchmark_filter=gemm-nn
    constexpr std::int64_t chunk = 16;
    for (std::int64_t p = 0; p < k; p += chunk)
      panels([&](std::int64_t rows, const T* from, T* to) WEFT_INLINE {
        pack_columns<T, W>(rows, k - p < chunk ? k - p : chunk, from + p * stride_k, stride_k, sign, to + p * W);
      });
  } else if (stride_k == 1) {
    panels([&](std::int64_t rows, const T* from, T* to)
               WEFT_INLINE { pack_rows<T, W>(rows, k, from, stride_n, sign, to); });
  } else {
    panels([&](std::int64_t rows, const T* from, T* to) WEFT_INLINE {
      for (std::int64_t p = 0; p < k; p += unit<T>)
        for (std::int64_t i = 0; i < W; ++i)
          copy_unit(from + i * stride_n + p * stride_k, stride_k, i < rows ? k - p : 0, sign, to + p * W + unit<T> * i);
    });
  }
}

}  // namespace weft::detail::WEFT_ISA
