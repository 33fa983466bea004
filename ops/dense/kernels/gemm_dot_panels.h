// Products of few rows with a packed B, to the bits of dot.
#pragma once
#include "dense/kernels/gemm.h"
#include "dense/kernels/gemm_units.h"

namespace weft::detail::WEFT_ISA {

// Steps of `lanes` rows of a panel that are added in one go: more load and store the sums less often and prefetch further
// ahead. bench: weft-bench --benchmark_filter='linear-packed-cold|gemm-nt-cold'
inline constexpr std::int64_t panel_steps = 48;

// R rows of A times one panel, in dot's order: lane l of dot's sum for a column is the sum of its products of the units
// p = l, l + lanes, …; here a vector has `lanes` columns, and sums_[i][v][l] is their lane l in row i.
template <int R, class T>
class PanelDots {
 public:
  // Unit p of k, alone; of A `count` elements from a on are there.
  void add_unit(std::int64_t p, const T* a, std::int64_t a_row, std::int64_t count, const T* row) noexcept {
    repeat<R * V>([&](auto s) WEFT_INLINE {
      constexpr int i = s.value / V, v = s.value % V;
      Computed<T>* sum = sums_[i][v][p % lanes];
      const Vec<T> x = count < unit<T> ? broadcast_last(a + i * a_row) : broadcast_unit(a + i * a_row);
      simd::store(sum, multiply_add<T>(x, load_units(row + unit<T> * v * lanes), simd::load(sum)));
    });
  }

  // `steps` times `lanes` units, from a multiple of lanes on: P of dot's lanes at a time. Prefetches as many of those
  // that follow.
  void add_units(std::int64_t steps, const T* a, std::int64_t a_row, const T* rows) noexcept {
    for (int v = 0; v < V; ++v)
      for (int first = 0; first < lanes; first += P) {
        Vec<T> sums[R * P];
        const auto place = [&](auto s) WEFT_INLINE { return &sums_[s.value / P][v][first + s.value % P][0]; };
        repeat<R * P>([&](auto s) WEFT_INLINE { sums[s.value] = simd::load(place(s)); });
        const T *x = a + unit<T> * first, *y = rows + first * width + unit<T> * v * lanes;
        for (std::int64_t step = 0; step < steps; ++step, x += unit<T> * lanes, y += lanes * width)
          repeat<P>([&](auto l) WEFT_INLINE {
            const Vec<T> columns = load_units(y + l.value * width);
            __builtin_prefetch(y + (panel_steps * lanes + l.value) * width, 0, 2);
            repeat<R>([&](auto i) WEFT_INLINE {
              Vec<T>& sum = sums[i.value * P + l.value];
              sum = multiply_add<T>(broadcast_unit(x + i.value * a_row + unit<T> * l.value), columns, sum);
            });
          });
        repeat<R * P>([&](auto s) WEFT_INLINE { simd::store(place(s), sums[s.value]); });
      }
  }

  // C's n columns in row i, of k units each. dot adds 0 to the lanes beyond k.
  void finish_row(int i, std::int64_t k, std::int64_t n, Computed<T>* c, bool accumulate) const noexcept {
    for (std::int64_t v = 0; v * lanes < n; ++v) {
      Vec<T> columns[lanes];
      for (std::int64_t l = 0; l < lanes; ++l) {
        columns[l] = simd::load(sums_[i][v][l]);
        if (k % lanes != 0 && l >= k % lanes) columns[l] = columns[l] + Vec<T>(0);
      }
      simd::transpose(columns);
      for (std::int64_t j = 0; j < lanes && v * lanes + j < n; ++j)
        put(c + v * lanes + j, simd::sum(columns[j]), accumulate);
    }
  }

 private:
  static constexpr std::int64_t lanes = simd::lanes<T>, width = unit<T> * blocks.nv * lanes;  // of a unit's row
  static constexpr int V = blocks.nv, L = static_cast<int>(lanes), most = blocks.panel_sums / R;
  static constexpr int P = most < 1 ? 1 : most < L ? most : L;
  static_assert(L % P == 0);
  alignas(64) Computed<T> sums_[R][V][lanes][lanes] = {};
};

// The first R of m rows. Of a single one two are made: measured, that is faster than code for one.
template <int R, class T>
void rows_of_panel(std::int64_t m, std::int64_t n, std::int64_t k, const T* a, std::int64_t a_row, const T* b,
                   const PanelLayout& layout, std::int64_t j, Computed<T>* c, std::int64_t c_row,
                   bool accumulate) noexcept {
  PanelDots<R, T> dots;
  if (m < R) a_row = 0;
  constexpr std::int64_t lanes = simd::lanes<T>, nr = blocks.nv * lanes;
  for (std::int64_t p = 0; p < k;) {
    const std::int64_t end = p + layout.block < k ? p + layout.block : k;
    for (const T* row = b + layout.at(p, j); p < end;) {
      std::int64_t steps = p / unit<T> % lanes == 0 ? (end - p) / (unit<T> * lanes) : 0;
      if (steps > panel_steps) steps = panel_steps;
      if (steps > 0) dots.add_units(steps, a + p, a_row, row);
      else dots.add_unit(p / unit<T>, a + p, a_row, k - p, row);
      const std::int64_t done = unit<T> * (steps > 0 ? steps * lanes : 1);
      p += done;
      row += done * nr;
    }
  }
  for (int i = 0; i < R && i < m; ++i) dots.finish_row(i, padded<T>(k) / unit<T>, n, c + i * c_row, accumulate);
}

template <class T>
void dot_panels(std::int64_t m, std::int64_t n, std::int64_t k, const T* a, std::int64_t a_row, const T* b,
                const PanelLayout& layout, std::int64_t j, Computed<T>* c, std::int64_t c_row,
                bool accumulate) noexcept {
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

}  // namespace weft::detail::WEFT_ISA
