// Products of few rows without panels, with sums along k (dot) or along the rows of B (rows, batched_dot).
#pragma once
#include "dense/kernels/gemm_units.h"

namespace weft::detail::WEFT_ISA {

// A dot product has dot_lanes partial sums. Partial sum l is the sum of the products of the units p = l, l + dot_lanes, …
// The partial sums of two columns fill a vector of AVX-512. Those of one column fill two vectors of NEON.
template <class T>
inline constexpr int columns_of_vector = simd::lanes<T> > dot_lanes<T> ? 2 : 1;
template <class T>
inline constexpr int vectors_of_column = simd::lanes<T> < dot_lanes<T> ? 2 : 1;

// Reads n elements of each of C columns, starting at p, into as many vectors as they fill. If the last vector has space
// for another column, it repeats its column.
template <int C, class T>
WEFT_INLINE inline void read_columns(const T* p, std::int64_t column, std::int64_t n, Vec<T>* y) noexcept {
#if WEFT_HAS_AVX512
  repeat<(C + 1) / 2>([&](auto j) WEFT_INLINE {
    constexpr int first = 2 * j.value, second = first + 1 < C ? first + 1 : first;
    y[j.value] = read_halves(p + first * column, p + second * column, n);
  });
#else
  repeat<C>([&](auto j) WEFT_INLINE { y[j.value] = read_units(p + j.value * column, n); });
#endif
}

template <int D>
struct Exchanged {
  static constexpr int at(int i) { return i ^ D; }
};
// Adds the lanes of each column of v, halves to halves, and writes the sums to c.
template <class T, int Width = dot_lanes<T> / 2>
WEFT_INLINE inline void put_columns(Vec<T> v, int columns, Computed<T>* c, std::int64_t c_column,
                                    bool accumulate) noexcept {
  if constexpr (columns_of_vector<T> == 1) {
    put(c, simd::sum(v), accumulate);
  } else if constexpr (Width > 0) {
    put_columns<T, Width / 2>(v + simd::shuffled<Exchanged<Width>>(v, v), columns, c, c_column, accumulate);
  } else {
    Computed<T> sums[simd::lanes<T>];
    simd::store(sums, v);
    for (int j = 0; j < columns; ++j) put(c + j * c_column, sums[j * dot_lanes<T>], accumulate);
  }
}

// Computes R × C dot products together. Prefetches columns prefetch_begin … prefetch_end of b if all columns of b are
// contiguous. They are prefetched in the order of their addresses, because the processor reads much slower from C
// columns in turn than from one stream. They go to the second-level cache, because the first one is full of the rows of
// a and the current columns.
// bench: weft-bench --benchmark_filter='gemm-nt-cold'
template <int R, int C, class T>
void dot_block(std::int64_t k, const T* a, std::int64_t a_row, const T* b, std::int64_t b_column, Computed<T>* c,
               std::int64_t c_row, std::int64_t c_column, bool accumulate, int prefetch_begin,
               int prefetch_end) noexcept {
  constexpr int H = vectors_of_column<T>, per_vector = columns_of_vector<T>, V = (C + per_vector - 1) / per_vector;
  constexpr std::int64_t width = unit<T> * dot_lanes<T> / H;  // elements of a column in a vector
  Vec<T> sums[H][R * V];
  repeat<H * R * V>([&](auto s) WEFT_INLINE { sums[s.value / (R * V)][s.value % (R * V)] = Vec<T>(0); });
  const auto step = [&](Vec<T>* sum, std::int64_t p, std::int64_t rest) WEFT_INLINE {
    Vec<T> y[V];
    read_columns<C>(b + p, b_column, rest, y);
    repeat<R>([&](auto i) WEFT_INLINE {
      Vec<T> x;
      read_columns<1>(a + i.value * a_row + p, 0, rest, &x);
      repeat<V>([&](auto v) WEFT_INLINE {
        Vec<T>& s = sum[i.value * V + v.value];
        s = multiply_add<T>(x, y[v.value], s);
      });
    });
  };
  const T* next = b + prefetch_begin * b_column;
  const std::int64_t ahead = b_column == k ? prefetch_end - prefetch_begin : 0;  // number of columns to prefetch
  const auto prefetch = [&](std::int64_t p) WEFT_INLINE {
    constexpr std::int64_t line = 64 / sizeof(T), lines = (C * H * width + line - 1) / line;
    const auto fetch = [](const T* from) WEFT_INLINE { __builtin_prefetch(from, 0, 2); };
    if (ahead == C) repeat<lines>([&](auto i) WEFT_INLINE { fetch(next + C * p + i.value * line); });
    else
      for (std::int64_t i = ahead * p; i < ahead * (p + H * width); i += line) fetch(next + i);
  };
  std::int64_t p = 0;
  for (; p + H * width <= k; p += H * width) {
    repeat<H>([&](auto h) WEFT_INLINE { step(sums[h.value], p + h.value * width, width); });
    if constexpr (R * C > 1) prefetch(p);
  }
  // All lanes beyond k add 0, so that -0 becomes 0 in the same lanes for vectors of any length.
  if (p < k)
    repeat<H>([&](auto h) WEFT_INLINE {
      const std::int64_t rest = k - p - h.value * width;
      step(sums[h.value], p + h.value * width, rest > 0 ? rest : 0);
    });
  repeat<R * V>([&](auto s) WEFT_INLINE {
    constexpr int i = s.value / V, j = s.value % V * per_vector;
    if constexpr (H == 2) sums[0][s.value] += sums[1][s.value];
    put_columns<T>(sums[0][s.value], C - j < per_vector ? C - j : per_vector, c + i * c_row + j * c_column, c_column,
                   accumulate);
  });
}

// How many of m rows are computed together. Five rows are three and two instead of four and one, because a single row
// has too few sums to hide the latency of a multiply-add.
constexpr int rows_together(std::int64_t m) noexcept {
  constexpr int most = blocks.dot_rows;
  if (most >= 4 && m == 5) return 3;
  if (m >= most) return most;
  return m > 4 ? 4 : static_cast<int>(m);
}

// Computes C columns for all rows. The columns stay in cache. Every pass prefetches a part of the next columns.
template <int C, class T>
void dot_columns(std::int64_t m, std::int64_t k, const T* a, std::int64_t a_row, const T* b, std::int64_t b_column,
                 Computed<T>* c, std::int64_t c_row, std::int64_t c_column, bool accumulate) noexcept {
  int passes = 0;
  for (std::int64_t rest = m; rest > 0; rest -= rows_together(rest)) ++passes;
  int pass = 0;
  const auto run = [&](auto rows) noexcept {
    dot_block<rows.value, C>(k, a, a_row, b, b_column, c, c_row, c_column, accumulate, C + C * pass / passes,
                             C + C * (pass + 1) / passes);
    ++pass;
    a += rows.value * a_row;
    c += rows.value * c_row;
    m -= rows.value;
  };
  while (m > 0) {
    const int together = rows_together(m);
    if (together == 1) run(Index<1>{});
    else if (together == 2) run(Index<2>{});
    else if constexpr (blocks.dot_rows >= 4) {
      if (together == 3) run(Index<3>{});
      else if (together == 4) run(Index<4>{});
      else run(Index<blocks.dot_rows>{});
    }
  }
}

template <int C, class T>
void dot_by_columns(std::int64_t m, std::int64_t n, std::int64_t k, const T* a, std::int64_t a_row, const T* b,
                    std::int64_t b_column, Computed<T>* c, std::int64_t c_row, std::int64_t c_column,
                    bool accumulate) noexcept {
  std::int64_t j = 0;
  for (; j + C <= n; j += C)
    dot_columns<C>(m, k, a, a_row, b + j * b_column, b_column, c + j * c_column, c_row, c_column, accumulate);
  for (; j < n; ++j)
    dot_columns<1>(m, k, a, a_row, b + j * b_column, b_column, c + j * c_column, c_row, c_column, accumulate);
}

// If a single row is multiplied by more columns than the cache of a core holds, the columns are read one after the
// other, which is the fastest order for memory. Smaller streamed_bytes: columns in cache wait for the latency of a
// multiply-add. Smaller streamed_column: adding the lanes of each column's sums takes longer than reading the column.
// bench: weft-nearest-bench --dimensions 64, 128, 256
constexpr std::int64_t streamed_bytes = 4 << 20, streamed_column = 448;

// With one or two rows, computes four columns at a time, because enough sums are needed to hide the latency of a
// multiply-add. With more rows, computes dot_columns columns at a time.
template <class T>
void dot(std::int64_t m, std::int64_t n, std::int64_t k, const T* a, std::int64_t a_row, const T* b,
         std::int64_t b_column, Computed<T>* c, std::int64_t c_row, std::int64_t c_column, bool accumulate) noexcept {
  const auto by = [&](auto columns) noexcept {
    dot_by_columns<columns.value>(m, n, k, a, a_row, b, b_column, c, c_row, c_column, accumulate);
  };
  constexpr std::int64_t size = sizeof(T);
  if (m == 1 && k * size > streamed_column && n * k * size > streamed_bytes) by(Index<1>{});
  else if (m < 3) by(Index<4>{});
  else by(Index<blocks.dot_columns>{});
}

// For up to rows_in_steps rows of C, the kernel reads all columns of rows_steps rows of B before it continues with the
// next rows of B. The pages of these rows fit into the TLB. Larger rows_steps: the rows of B need more pages than the
// TLB holds. Smaller: C is stored and loaded more often. Larger rows_in_steps: storing and loading C costs more time
// than the TLB saves.
// bench: weft-bench --benchmark_filter='gemm-nn/[0-9]x2048x512'
constexpr std::int64_t rows_steps = 32, rows_in_steps = 7;

// Computes R rows of V vectors of C. If V = 1, the vector has only `cut` elements.
template <int R, int V, class T>
void rows_block(std::int64_t k, const T* a, std::int64_t a_row, std::int64_t a_column, const T* b, std::int64_t b_row,
                Computed<T>* c, std::int64_t c_row, bool accumulate, std::int64_t cut) noexcept {
  constexpr std::int64_t lanes = simd::lanes<T>;
  const std::int64_t width = V > 1 ? lanes : cut;
  Vec<T> sums[R * V];
  repeat<R * V>([&](auto s) WEFT_INLINE {
    sums[s.value] = accumulate ? read(c + s.value / V * c_row + s.value % V * lanes, width) : Vec<T>(0);
  });
  for (std::int64_t p = 0; p < k; ++p, a += a_column, b += b_row) {
    Vec<T> y[V];
    repeat<V>([&](auto v) WEFT_INLINE { y[v.value] = read(b + v.value * lanes, width); });
    repeat<R>([&](auto i) WEFT_INLINE {
      const Vec<T> x(simd::get(a + i.value * a_row));
      repeat<V>([&](auto v) WEFT_INLINE {
        Vec<T>& sum = sums[i.value * V + v.value];
        sum = simd::fma(x, y[v.value], sum);
      });
    });
  }
  repeat<R * V>([&](auto s)
                    WEFT_INLINE { write(c + s.value / V * c_row + s.value % V * lanes, sums[s.value], width); });
}

// Multiplies R rows of A by k rows of B for all columns of C, several vectors at a time. With more rows, it processes
// fewer vectors, so that the sums stay in registers.
template <int R, class T>
void rows_of_steps(std::int64_t n, std::int64_t k, const T* a, std::int64_t a_row, std::int64_t a_column, const T* b,
                   std::int64_t b_row, Computed<T>* c, std::int64_t c_row, bool accumulate) noexcept {
  constexpr std::int64_t lanes = simd::lanes<T>;
  constexpr int V = blocks.few_rows / R * blocks.few_vectors < 8 ? blocks.few_rows / R * blocks.few_vectors : 8;
  std::int64_t j = 0;
  for (; j + V * lanes <= n; j += V * lanes)
    rows_block<R, V>(k, a, a_row, a_column, b + j, b_row, c + j, c_row, accumulate, lanes);
  for (; j < n; j += lanes)
    rows_block<R, 1>(k, a, a_row, a_column, b + j, b_row, c + j, c_row, accumulate, n - j < lanes ? n - j : lanes);
}

template <class T>
void rows(std::int64_t m, std::int64_t n, std::int64_t k, const T* a, std::int64_t a_row, std::int64_t a_column,
          const T* b, std::int64_t b_row, Computed<T>* c, std::int64_t c_row, bool accumulate) noexcept {
  const std::int64_t at_once = m <= rows_in_steps ? rows_steps : k;
  std::int64_t p = 0;
  do {  // runs once even if k is 0
    const std::int64_t steps = k - p < at_once ? k - p : at_once;
    std::int64_t i = 0;
    const auto run = [&](auto r) noexcept {
      rows_of_steps<r.value>(n, steps, a + i * a_row + p * a_column, a_row, a_column, b + p * b_row, b_row,
                             c + i * c_row, c_row, accumulate || p > 0);
      i += r.value;
    };
    while (m - i >= blocks.few_rows) run(Index<blocks.few_rows>{});
    if constexpr (blocks.few_rows > 4) {
      if (m - i >= 4) run(Index<4>{});
    }
    while (m - i >= 2) run(Index<2>{});
    if (m - i == 1) run(Index<1>{});
    p += steps;
  } while (p < k);
}

// Computes V vectors of y. If V = 1, the vector has only `cut` elements.
template <int V, class T>
void batched_dot_block(std::int64_t k, const T* a, std::int64_t a_stride, const T* b, std::int64_t b_stride,
                       Computed<T>* y, bool accumulate, std::int64_t cut) noexcept {
  constexpr std::int64_t lanes = simd::lanes<T>;
  const std::int64_t width = V > 1 ? lanes : cut;
  Vec<T> sums[V];
  repeat<V>([&](auto v) WEFT_INLINE { sums[v.value] = Vec<T>(0); });
  for (std::int64_t p = 0; p < k; ++p, a += a_stride, b += b_stride)
    repeat<V>([&](auto v) WEFT_INLINE {
      sums[v.value] = simd::fma(read(a + v.value * lanes, width), read(b + v.value * lanes, width), sums[v.value]);
    });
  repeat<V>([&](auto v) WEFT_INLINE {
    Computed<T>* to = y + v.value * lanes;
    write(to, accumulate ? read(to, width) + sums[v.value] : sums[v.value], width);
  });
}

template <class T>
void batched_dot(std::int64_t n, std::int64_t k, const T* a, std::int64_t a_stride, const T* b, std::int64_t b_stride,
                 Computed<T>* y, bool accumulate) noexcept {
  constexpr std::int64_t width = simd::lanes<T>;
  std::int64_t i = 0;
  for (; i + 4 * width <= n; i += 4 * width)
    batched_dot_block<4>(k, a + i, a_stride, b + i, b_stride, y + i, accumulate, width);
  for (; i < n; i += width)
    batched_dot_block<1>(k, a + i, a_stride, b + i, b_stride, y + i, accumulate, n - i < width ? n - i : width);
}

}  // namespace weft::detail::WEFT_ISA
