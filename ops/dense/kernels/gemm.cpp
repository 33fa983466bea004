#include "dense/kernels/gemm.h"

#include "pointwise/kernels/activation_functors.h"
#include "simd/simd.h"
#include "simd/unroll.h"

namespace weft::detail::WEFT_ISA {
namespace {

using simd::Vec;

// The tile is mr rows of nv vectors: mr · nv sums, nv vectors of B and one broadcast of A fill the registers. A panel
// of A (mr × kc) stays in L1, a block of B (kc × nc) in L2.
struct Blocks {
  int mr, nv;  // more rows: more sums for each load of B; as many as there are registers for
  // Longer blocks of k store and load C less often; shorter ones leave more of L1 to A's next panel and of L2 to B's.
  std::int64_t kc_f32, kc_f64;
  // A task's share of C: large ones read packed blocks less often, small ones keep the threads busy to the end.
  std::int64_t mc, nc;
  int dot_rows;               // `dot` keeps dot_rows × 4 sums in registers
  int few_rows, few_vectors;  // `rows` keeps few_rows × few_vectors
  int panel_sums;             // `dot_panels` keeps so many
};
// bench: WEFT_ISA=… weft-bench --benchmark_filter='gemm-nn|linear'; few rows: 'gemm-nt(-cold)?/[0-9]*x2048x512'
#if defined(__AVX512F__)
constexpr Blocks blocks = {.mr = 12,
                           .nv = 2,
                           .kc_f32 = 768,
                           .kc_f64 = 384,
                           .mc = 120,
                           .nc = 256,
                           .dot_rows = 4,
                           .few_rows = 8,
                           .few_vectors = 3,
                           .panel_sums = 16};
#elif defined(__AVX2__)
constexpr Blocks blocks = {.mr = 6,
                           .nv = 2,
                           .kc_f32 = 256,
                           .kc_f64 = 256,
                           .mc = 120,
                           .nc = 256,
                           .dot_rows = 2,
                           .few_rows = 4,
                           .few_vectors = 3,
                           .panel_sums = 8};
#elif defined(__aarch64__)
constexpr Blocks blocks = {.mr = 8,
                           .nv = 2,
                           .kc_f32 = 256,
                           .kc_f64 = 256,
                           .mc = 120,
                           .nc = 256,
                           .dot_rows = 4,
                           .few_rows = 8,
                           .few_vectors = 3,
                           .panel_sums = 16};
#else
constexpr Blocks blocks = {.mr = 4,
                           .nv = 2,
                           .kc_f32 = 256,
                           .kc_f64 = 256,
                           .mc = 120,
                           .nc = 256,
                           .dot_rows = 2,
                           .few_rows = 4,
                           .few_vectors = 2,
                           .panel_sums = 8};
#endif

// The first n elements of p, or a whole vector if there are more.
template <class T>
WEFT_INLINE inline Vec<T> read(const T* p, std::int64_t n) noexcept {
  return n < simd::lanes<T> ? simd::load_n(p, n) : simd::load(p);
}

template <class T>
WEFT_INLINE inline void write(T* p, Vec<T> v, std::int64_t n) noexcept {
  if (n < simd::lanes<T>) simd::store_n(p, v, n);
  else simd::store(p, v);
}

constexpr std::int64_t line = 64;  // bytes of a cache line
// Steps of k by which a tile prefetches B: fewer come too late for L2's latency, more too early for L1 to keep them
// all.
// bench: weft-bench --benchmark_filter=gemm-nn
constexpr std::int64_t prefetch_steps = 24;

// Prefetches `bytes` of p.
template <std::int64_t bytes, class T>
WEFT_INLINE inline void prefetch(const T* p) noexcept {
  constexpr int lines = static_cast<int>((bytes + line - 1) / line);
  repeat<lines>([&](auto i) WEFT_INLINE { __builtin_prefetch(p + i.value * line / std::int64_t{sizeof(T)}); });
}

template <class T>
void epilogue(const GemmEpilogue<T>& e, std::int64_t m, std::int64_t n, T* c, std::int64_t row) noexcept {
  with_activation(e.activation, [&](auto f) noexcept {
    for (std::int64_t j = 0; j < n; j += simd::lanes<T>) {
      const std::int64_t rest = n - j;
      const Vec<T> bias = e.bias && e.bias_column != 0 ? read(e.bias + j, rest) : Vec<T>(T(0));
      for (std::int64_t i = 0; i < m; ++i) {
        Vec<T> y = read(c + i * row + j, rest);
        if (e.bias) y = y + (e.bias_column != 0 ? bias : Vec<T>(e.bias[i * e.bias_row]));
        if (e.preactivation) write(e.preactivation + i * e.preactivation_row + j, y, rest);
        y = f.value(y);
        if (e.gate) y = y * read(e.gate + i * e.gate_row + j, rest);
        if (e.residual) y = y + read(e.residual + i * e.residual_row + j, rest);
        write(c + i * row + j, y, rest);
      }
    }
  });
}

// Prefetches the row of C that a tile will write, what the epilogue reads and writes beside it, and some of A's next.
// Inline: to g++ a function that does nothing but prefetch has no effect, and it leaves out the call.
template <class T>
WEFT_INLINE inline void prefetch_row(const GemmTile<T>& t, std::int64_t i) noexcept {
  constexpr std::int64_t row_bytes = blocks.nv * simd::lanes<T> * std::int64_t{sizeof(T)};
  constexpr std::int64_t per_line = line / std::int64_t{sizeof(T)};
  prefetch<row_bytes>(t.c + i * t.c_row);
  for (std::int64_t l = 0; l < t.prefetch.a_lines; ++l)
    __builtin_prefetch(t.prefetch.a + i * t.a_row + l * per_line, 0, 2);
  if (t.epilogue == nullptr) return;
  const GemmEpilogue<T>& e = *t.epilogue;
  if (e.preactivation) prefetch<row_bytes>(e.preactivation + i * e.preactivation_row);
  if (e.gate) prefetch<row_bytes>(e.gate + i * e.gate_row);
  if (e.residual) prefetch<row_bytes>(e.residual + i * e.residual_row);
}

template <class T, int R, int V>
WEFT_INLINE inline void store_tile(const GemmTile<T>& t, const Vec<T>* sums) noexcept {
  constexpr std::int64_t lanes = simd::lanes<T>;
  if (t.rows == R && t.columns == V * lanes) {
    repeat<R * V>([&](auto s) WEFT_INLINE {
      T* to = t.c + s.value / V * t.c_row + s.value % V * lanes;
      simd::store(to, t.accumulate ? simd::load(to) + sums[s.value] : sums[s.value]);
    });
  } else {
    T whole[R * V * lanes];
    repeat<R * V>([&](auto s) WEFT_INLINE { simd::store(whole + s.value * lanes, sums[s.value]); });
    for (std::int64_t i = 0; i < t.rows; ++i)
      for (std::int64_t j = 0; j < t.columns; j += lanes) {
        T* to = t.c + i * t.c_row + j;
        const Vec<T> sum = simd::load(whole + i * V * lanes + j);
        write(to, t.accumulate ? read(to, t.columns - j) + sum : sum, t.columns - j);
      }
  }
}

// R rows and V vectors of a tile, packing B or not: the micro-kernel. A function of its own, so that all registers are
// the sums'.
template <class T, int R, int V, bool Packs = false>
[[gnu::noinline]] void part_of_tile(const GemmTile<T>& t) noexcept {
  constexpr std::int64_t lanes = simd::lanes<T>, nr = blocks.nv * lanes, width = V * lanes * std::int64_t{sizeof(T)};
  const std::int64_t b_row = Packs ? t.b_row : nr;
  Vec<T> sums[R * V];
  repeat<R * V>([&](auto s) WEFT_INLINE { sums[s.value] = Vec<T>(T(0)); });
  // One pointer for four rows: an address is a pointer and -1, 0, 1 or 2 times the stride.
  const T* a[(R + 3) / 4];
  repeat<(R + 3) / 4>([&](auto q) WEFT_INLINE { a[q.value] = t.a + (4 * q.value + 1) * t.a_row; });
  const T *b = t.b, *next = t.prefetch.b;
  T* packs = t.packs;
  std::int64_t p = 0;
  for (std::int64_t row = 0; row < R; ++row) {  // prefetches all at once would hold up B
    prefetch_row(t, row);
    for (const std::int64_t end = t.k * (row + 1) / R; p < end; ++p, b += b_row, next += t.prefetch.b_step) {
      Vec<T> columns[V];
      repeat<V>([&](auto v) WEFT_INLINE { columns[v.value] = simd::load(b + v.value * lanes); });
      prefetch<width>(b + prefetch_steps * b_row);
      if constexpr (Packs) {
        repeat<V>([&](auto v) WEFT_INLINE { simd::store(packs + v.value * lanes, columns[v.value]); });
        packs += nr;
      }
      __builtin_prefetch(next, 0, 2);
      repeat<R>([&](auto i) WEFT_INLINE {
        const Vec<T> x(a[i.value / 4][(i.value % 4 - 1) * t.a_row]);
        repeat<V>([&](auto v) WEFT_INLINE {
          Vec<T>& sum = sums[i.value * V + v.value];
          sum = simd::fma(x, columns[v.value], sum);
        });
      });
      repeat<(R + 3) / 4>([&](auto q) WEFT_INLINE { a[q.value] += t.a_column; });
    }
  }
  store_tile<T, R, V>(t, sums);
}

template <class T, int R>
void rows_of_tile(const GemmTile<T>& t) noexcept {
  if (t.columns <= simd::lanes<T>) part_of_tile<T, R, 1>(t);
  else part_of_tile<T, R, blocks.nv>(t);
}

template <class T>
void tile(const GemmTile<T>& t) noexcept {
  constexpr int third = blocks.mr / 3;
  if (t.packs) part_of_tile<T, blocks.mr, blocks.nv, true>(t);
  else if (t.rows <= third) rows_of_tile<T, third>(t);
  else if (t.rows <= 2 * third) rows_of_tile<T, 2 * third>(t);
  else rows_of_tile<T, blocks.mr>(t);
  if (t.epilogue) epilogue(*t.epilogue, t.rows, t.columns, t.c, t.c_row);
}

// The first n <= W rows of a panel whose columns are contiguous; the others are 0.
template <class T, int W>
void pack_columns(std::int64_t n, std::int64_t k, const T* x, std::int64_t stride_k, T sign, T* out) noexcept {
  constexpr std::int64_t lanes = simd::lanes<T>;
  const Vec<T> factor(sign);
  for (std::int64_t p = 0; p < k; ++p, x += stride_k, out += W)
    repeat<(W + lanes - 1) / lanes>([&](auto v) WEFT_INLINE {
      constexpr std::int64_t first = v.value * lanes, width = W - first < lanes ? W - first : lanes;
      const std::int64_t there = n == W ? width : n - first;
      write(out + first, there > 0 ? factor * read(x + first, there) : Vec<T>(T(0)), width);
    });
}

// The same of a panel whose rows are contiguous, by squares of lanes × lanes.
template <class T, int W>
void pack_rows(std::int64_t n, std::int64_t k, const T* x, std::int64_t stride_n, T sign, T* out) noexcept {
  constexpr std::int64_t lanes = simd::lanes<T>;
  const Vec<T> factor(sign);
  std::int64_t p = 0;
  for (; p + lanes <= k; p += lanes)
    repeat<(W + lanes - 1) / lanes>([&](auto square) WEFT_INLINE {
      constexpr std::int64_t first = square.value * lanes, width = W - first < lanes ? W - first : lanes;
      Vec<T> v[lanes];
      repeat<lanes>([&](auto i) WEFT_INLINE {
        const bool there = i.value < width && (n == W || first + i.value < n);
        v[i.value] = there ? factor * simd::load(x + (first + i.value) * stride_n + p) : Vec<T>(T(0));
      });
      simd::transpose(v);
      repeat<lanes>([&](auto i) WEFT_INLINE { write(out + (p + i.value) * W + first, v[i.value], width); });
    });
  for (; p < k; ++p)
    for (std::int64_t i = 0; i < W; ++i) out[p * W + i] = i < n ? sign * x[i * stride_n + p] : T(0);
}

// Panels whose columns are contiguous are packed side by side, a few rows at a time: a row is one stream of memory.
template <class T, int W>
void pack(std::int64_t n, std::int64_t k, const T* x, std::int64_t stride_n, std::int64_t stride_k, T sign,
          T* out) noexcept {
  const auto panels = [&](auto&& pack_panel) WEFT_INLINE {
    for (std::int64_t i = 0; i < n; i += W) pack_panel(n - i < W ? n - i : W, x + i * stride_n, out + i * k);
  };
  if (stride_n == 1) {
    // Rows, each a stream of x: the hardware follows only so many; few make short runs in a panel. bench: weft-bench
    // --benchmark_filter=gemm-nn
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
      for (std::int64_t p = 0; p < k; ++p)
        for (std::int64_t i = 0; i < W; ++i) to[p * W + i] = i < rows ? sign * from[i * stride_n + p * stride_k] : T(0);
    });
  }
}

template <class T>
void put(T* to, T value, bool accumulate) noexcept {
  *to = accumulate ? *to + value : value;
}

// R × C dot products at once. Prefetches columns prefetch_begin … prefetch_end of b.
template <int R, int C, class T>
void dot_block(std::int64_t k, const T* a, std::int64_t a_row, const T* b, std::int64_t b_column, T* c,
               std::int64_t c_row, std::int64_t c_column, bool accumulate, int prefetch_begin,
               int prefetch_end) noexcept {
  Vec<T> sums[R * C];
  repeat<R * C>([&](auto s) WEFT_INLINE { sums[s.value] = Vec<T>(T(0)); });
  const auto step = [&](std::int64_t p, std::int64_t rest) WEFT_INLINE {
    Vec<T> x[R];
    repeat<R>([&](auto i) WEFT_INLINE { x[i.value] = read(a + i.value * a_row + p, rest); });
    repeat<C>([&](auto j) WEFT_INLINE {
      const Vec<T> y = read(b + j.value * b_column + p, rest);
      repeat<R>([&](auto i) WEFT_INLINE {
        Vec<T>& sum = sums[i.value * C + j.value];
        sum = simd::fma(x[i.value], y, sum);
      });
    });
    for (int j = prefetch_begin; j < prefetch_end; ++j) __builtin_prefetch(b + j * b_column + p);
  };
  std::int64_t p = 0;
  for (; p + simd::lanes<T> <= k; p += simd::lanes<T>) step(p, simd::lanes<T>);
  if (p < k) step(p, k - p);
  repeat<R * C>([&](auto s) WEFT_INLINE {
    put(c + s.value / C * c_row + s.value % C * c_column, simd::sum(sums[s.value]), accumulate);
  });
}

// C columns, of all rows: they stay in cache. Every pass prefetches a part of the next ones, which are too short for
// the hardware to see a stream.
template <int C, class T>
void dot_columns(std::int64_t m, std::int64_t k, const T* a, std::int64_t a_row, const T* b, std::int64_t b_column,
                 T* c, std::int64_t c_row, std::int64_t c_column, bool accumulate) noexcept {
  const int passes = static_cast<int>(m / blocks.dot_rows + m % blocks.dot_rows / 2 + m % 2);
  int pass = 0;
  const auto run = [&](auto rows) noexcept {
    dot_block<rows.value, C>(k, a, a_row, b, b_column, c, c_row, c_column, accumulate, C + C * pass / passes,
                             C + C * (pass + 1) / passes);
    ++pass;
    a += rows.value * a_row;
    c += rows.value * c_row;
    m -= rows.value;
  };
  while (m >= blocks.dot_rows) run(Index<blocks.dot_rows>{});
  while (m >= 2) run(Index<2>{});
  if (m == 1) run(Index<1>{});
}

template <class T>
void dot(std::int64_t m, std::int64_t n, std::int64_t k, const T* a, std::int64_t a_row, const T* b,
         std::int64_t b_column, T* c, std::int64_t c_row, std::int64_t c_column, bool accumulate) noexcept {
  std::int64_t j = 0;
  for (; j + 4 <= n; j += 4)
    dot_columns<4>(m, k, a, a_row, b + j * b_column, b_column, c + j * c_column, c_row, c_column, accumulate);
  for (; j < n; ++j)
    dot_columns<1>(m, k, a, a_row, b + j * b_column, b_column, c + j * c_column, c_row, c_column, accumulate);
}

// Steps of `lanes` rows of a panel that are added in one go: more load and store the sums less often and prefetch further
// ahead. bench: weft-bench --benchmark_filter='linear-packed-cold|gemm-nt-cold'
constexpr std::int64_t panel_steps = 48;

// One row of A times one panel, in dot's order: lane l of dot's sum for a column is the sum of its products p = l, l +
// lanes, …; here a vector has `lanes` columns, and sums[v][l] is their lane l.
template <class T>
using RowSums = T[blocks.nv][simd::lanes<T>][simd::lanes<T>];

// C's n columns, of k products each. dot adds 0 to the lanes beyond k.
template <class T>
void finish_row(const RowSums<T>& sums, std::int64_t k, std::int64_t n, T* c, bool accumulate) noexcept {
  constexpr std::int64_t lanes = simd::lanes<T>;
  for (std::int64_t v = 0; v * lanes < n; ++v) {
    Vec<T> columns[lanes];
    for (std::int64_t l = 0; l < lanes; ++l) {
      columns[l] = simd::load(sums[v][l]);
      if (k % lanes != 0 && l >= k % lanes) columns[l] = columns[l] + Vec<T>(T(0));
    }
    simd::transpose(columns);
    for (std::int64_t j = 0; j < lanes && v * lanes + j < n; ++j)
      put(c + v * lanes + j, simd::sum(columns[j]), accumulate);
  }
}

// R rows of A times one panel.
template <int R, class T>
class PanelDots {
 public:
  // Row p of the panel, alone.
  void add_row(std::int64_t p, const T* a, std::int64_t a_row, const T* row) noexcept {
    repeat<R * V>([&](auto s) WEFT_INLINE {
      constexpr int i = s.value / V, v = s.value % V;
      T* sum = sums_[i][v][p % lanes];
      simd::store(sum, simd::fma(Vec<T>(a[i * a_row + p]), simd::load(row + v * lanes), simd::load(sum)));
    });
  }

  // `steps` times `lanes` rows, from a row p that is a multiple of lanes: P of dot's lanes at a time. Prefetches as many
  // of the rows that follow.
  void add_rows(std::int64_t steps, const T* a, std::int64_t a_row, const T* rows) noexcept {
    for (int v = 0; v < V; ++v)
      for (int first = 0; first < lanes; first += P) {
        Vec<T> sums[R * P];
        const auto place = [&](auto s) WEFT_INLINE { return &sums_[s.value / P][v][first + s.value % P][0]; };
        repeat<R * P>([&](auto s) WEFT_INLINE { sums[s.value] = simd::load(place(s)); });
        const T *x = a + first, *y = rows + first * nr + v * lanes;
        for (std::int64_t step = 0; step < steps; ++step, x += lanes, y += lanes * nr)
          repeat<P>([&](auto l) WEFT_INLINE {
            const Vec<T> columns = simd::load(y + l.value * nr);
            __builtin_prefetch(y + (panel_steps * lanes + l.value) * nr, 0, 2);
            repeat<R>([&](auto i) WEFT_INLINE {
              Vec<T>& sum = sums[i.value * P + l.value];
              sum = simd::fma(Vec<T>(x[i.value * a_row + l.value]), columns, sum);
            });
          });
        repeat<R * P>([&](auto s) WEFT_INLINE { simd::store(place(s), sums[s.value]); });
      }
  }

  const RowSums<T>& row(int i) const noexcept { return sums_[i]; }

 private:
  static constexpr std::int64_t lanes = simd::lanes<T>, nr = blocks.nv * lanes;
  static constexpr int V = blocks.nv, L = static_cast<int>(lanes), most = blocks.panel_sums / R;
  static constexpr int P = most < 1 ? 1 : most < L ? most : L;
  static_assert(L % P == 0);
  alignas(64) RowSums<T> sums_[R] = {};
};

// The first R of m rows. Of a single one two are made: measured, that is faster than code for one.
template <int R, class T>
void rows_of_panel(std::int64_t m, std::int64_t n, std::int64_t k, const T* a, std::int64_t a_row, const T* b,
                   const PanelLayout& layout, std::int64_t j, T* c, std::int64_t c_row, bool accumulate) noexcept {
  PanelDots<R, T> dots;
  if (m < R) a_row = 0;
  constexpr std::int64_t lanes = simd::lanes<T>, nr = blocks.nv * lanes;
  for (std::int64_t p = 0; p < k;) {
    const std::int64_t end = p + layout.block < k ? p + layout.block : k;
    for (const T* row = b + layout.at(p, j); p < end;) {
      std::int64_t steps = p % lanes == 0 ? (end - p) / lanes : 0;
      if (steps > panel_steps) steps = panel_steps;
      if (steps > 0) dots.add_rows(steps, a + p, a_row, row);
      else dots.add_row(p, a, a_row, row);
      const std::int64_t rows = steps > 0 ? steps * lanes : 1;
      p += rows;
      row += rows * nr;
    }
  }
  for (int i = 0; i < R && i < m; ++i) finish_row<T>(dots.row(i), k, n, c + i * c_row, accumulate);
}

template <class T>
void dot_panels(std::int64_t m, std::int64_t n, std::int64_t k, const T* a, std::int64_t a_row, const T* b,
                const PanelLayout& layout, std::int64_t j, T* c, std::int64_t c_row, bool accumulate) noexcept {
  constexpr std::int64_t nr = blocks.nv * simd::lanes<T>;
  for (std::int64_t done = 0; done < n; done += nr) {
    const std::int64_t columns = n - done < nr ? n - done : nr;
    std::int64_t i = 0;
    const auto run = [&](auto r) noexcept {
      rows_of_panel<r.value>(m - i, columns, k, a + i * a_row, a_row, b, layout, j + done, c + i * c_row + done, c_row,
                             accumulate);
      i += r.value;
    };
    while (m - i >= 4) run(Index<4>{});
    while (m - i >= 2) run(Index<2>{});
    if (m > i) run(Index<2>{});
  }
}

// R rows of V vectors of C; of one vector (V = 1) the first `cut` elements.
template <int R, int V, class T>
void rows_block(std::int64_t k, const T* a, std::int64_t a_row, std::int64_t a_column, const T* b, std::int64_t b_row,
                T* c, std::int64_t c_row, bool accumulate, std::int64_t cut) noexcept {
  constexpr std::int64_t lanes = simd::lanes<T>;
  const std::int64_t width = V > 1 ? lanes : cut;
  Vec<T> sums[R * V];
  repeat<R * V>([&](auto s) WEFT_INLINE { sums[s.value] = Vec<T>(T(0)); });
  for (std::int64_t p = 0; p < k; ++p, a += a_column, b += b_row) {
    Vec<T> y[V];
    repeat<V>([&](auto v) WEFT_INLINE { y[v.value] = read(b + v.value * lanes, width); });
    repeat<R>([&](auto i) WEFT_INLINE {
      const Vec<T> x(a[i.value * a_row]);
      repeat<V>([&](auto v) WEFT_INLINE {
        Vec<T>& sum = sums[i.value * V + v.value];
        sum = simd::fma(x, y[v.value], sum);
      });
    });
  }
  repeat<R * V>([&](auto s) WEFT_INLINE {
    T* to = c + s.value / V * c_row + s.value % V * lanes;
    write(to, accumulate ? read(to, width) + sums[s.value] : sums[s.value], width);
  });
}

// V vectors of columns, of all rows.
template <int V, class T>
void rows_columns(std::int64_t m, std::int64_t k, const T* a, std::int64_t a_row, std::int64_t a_column, const T* b,
                  std::int64_t b_row, T* c, std::int64_t c_row, bool accumulate, std::int64_t width) noexcept {
  const auto run = [&](auto r) noexcept {
    rows_block<r.value, V>(k, a, a_row, a_column, b, b_row, c, c_row, accumulate, width);
    a += r.value * a_row;
    c += r.value * c_row;
    m -= r.value;
  };
  while (m >= blocks.few_rows) run(Index<blocks.few_rows>{});
  if constexpr (blocks.few_rows > 4) {
    if (m >= 4) run(Index<4>{});
  }
  while (m >= 2) run(Index<2>{});
  if (m == 1) run(Index<1>{});
}

template <class T>
void rows(std::int64_t m, std::int64_t n, std::int64_t k, const T* a, std::int64_t a_row, std::int64_t a_column,
          const T* b, std::int64_t b_row, T* c, std::int64_t c_row, bool accumulate) noexcept {
  constexpr std::int64_t lanes = simd::lanes<T>;
  constexpr int V = blocks.few_vectors;
  std::int64_t j = 0;
  for (; j + V * lanes <= n; j += V * lanes)
    rows_columns<V>(m, k, a, a_row, a_column, b + j, b_row, c + j, c_row, accumulate, lanes);
  for (; j < n; j += lanes)
    rows_columns<1>(m, k, a, a_row, a_column, b + j, b_row, c + j, c_row, accumulate, n - j < lanes ? n - j : lanes);
}

// V vectors of y; of one vector (V = 1) the first `cut` elements.
template <int V, class T>
void batched_dot_block(std::int64_t k, const T* a, std::int64_t a_stride, const T* b, std::int64_t b_stride, T* y,
                       bool accumulate, std::int64_t cut) noexcept {
  constexpr std::int64_t lanes = simd::lanes<T>;
  const std::int64_t width = V > 1 ? lanes : cut;
  Vec<T> sums[V];
  repeat<V>([&](auto v) WEFT_INLINE { sums[v.value] = Vec<T>(T(0)); });
  for (std::int64_t p = 0; p < k; ++p, a += a_stride, b += b_stride)
    repeat<V>([&](auto v) WEFT_INLINE {
      sums[v.value] = simd::fma(read(a + v.value * lanes, width), read(b + v.value * lanes, width), sums[v.value]);
    });
  repeat<V>([&](auto v) WEFT_INLINE {
    T* to = y + v.value * lanes;
    write(to, accumulate ? read(to, width) + sums[v.value] : sums[v.value], width);
  });
}

template <class T>
void batched_dot(std::int64_t n, std::int64_t k, const T* a, std::int64_t a_stride, const T* b, std::int64_t b_stride,
                 T* y, bool accumulate) noexcept {
  constexpr std::int64_t width = simd::lanes<T>;
  std::int64_t i = 0;
  for (; i + 4 * width <= n; i += 4 * width)
    batched_dot_block<4>(k, a + i, a_stride, b + i, b_stride, y + i, accumulate, width);
  for (; i < n; i += width)
    batched_dot_block<1>(k, a + i, a_stride, b + i, b_stride, y + i, accumulate, n - i < width ? n - i : width);
}

template <class T>
constexpr GemmKernels<T> table() {
  constexpr int nr = blocks.nv * static_cast<int>(simd::lanes<T>);
  static_assert(blocks.mr * nr <= largest_tile);
  return {.mr = blocks.mr,
          .nr = nr,
          .kc = sizeof(T) == 4 ? blocks.kc_f32 : blocks.kc_f64,
          .mc = blocks.mc,
          .nc = blocks.nc,
          .pack_a = pack<T, blocks.mr>,
          .pack_b = pack<T, nr>,
          .tile = tile<T>,
          .epilogue = epilogue<T>,
          .dot = dot<T>,
          .dot_panels = dot_panels<T>,
          .rows = rows<T>,
          .batched_dot = batched_dot<T>};
}

}  // namespace
}  // namespace weft::detail::WEFT_ISA

WEFT_KERNEL_TABLES(GemmKernels)
