// Products of few rows with a packed B. The results have the same bits as those of dot.
#pragma once
#include "dense/kernels/gemm.h"
#include "dense/kernels/gemm_units.h"

namespace weft::detail::WEFT_ISA {

// With several rows of A, the number of steps whose products are added before the sums are stored. A step consists of
// dot_lanes rows of a panel. Larger: sums are loaded and stored less often. Smaller: the prefetch distance is shorter.
// bench: weft-bench --benchmark_filter='linear-packed-cold|gemm-nt-cold'
template <class T>
inline constexpr std::int64_t panel_steps = 48 * simd::lanes<T> / dot_lanes<T>;

// The prefetch distance in bytes for a single row of A; 0: none. It reaches past the end of the panel, because otherwise
// the panel's last sums would delay the next panel's first loads. Larger: the hardware prefetcher no longer recognizes a
// stream, so reading is slower. Smaller: the distance no longer reaches the next panel. With AVX2, the loop takes longer
// than the hardware's prefetching: on Zen 4, it takes two thirds of the time of 2048 without software prefetching.
// bench: weft-decode-bench --model large --precision bf16
inline constexpr std::int64_t near_bytes = WEFT_HAS_AVX2 && !WEFT_HAS_AVX512 ? 0 : 2048;

// R rows of A times one panel, in dot's order. In dot, partial sum l of a column is the sum of the products of the units
// p = l, l + dot_lanes, …. Here a vector holds `lanes` columns, and sums_[i][v][l] contains partial sum l of these columns
// in row i.
template <int R, class T>
class PanelDots {
 public:
  // Adds a single unit p of k. `count` elements of A are left, starting at a.
  void add_unit(std::int64_t p, const T* a, std::int64_t a_row, std::int64_t count, const T* row) noexcept {
    repeat<R * V>([&](auto s) WEFT_INLINE {
      constexpr int i = s.value / V, v = s.value % V;
      Computed<T>* sum = sums_[i][v][p % L];
      const Vec<T> x = count < unit<T> ? broadcast_last(a + i * a_row) : broadcast_unit(a + i * a_row);
      simd::store(sum, multiply_add<T>(x, load_units(row + unit<T> * v * lanes), simd::load(sum)));
    });
  }

  // Adds `steps` times L units, starting at a multiple of L. Each pass processes P of dot's partial sums and W of the
  // panel's vectors. With a single row, one pass processes all of them and so reads the panel from end to end,
  // which is the fastest order for memory. With several rows, each pass prefetches its share of the following steps.
  void add_units(std::int64_t steps, const T* a, std::int64_t a_row, const T* rows) noexcept {
    for (int v = 0; v < V; v += W)
      for (int first = 0; first < L; first += P) {
        Vec<T> sums[R * P * W];
        const auto place = [&](auto s) WEFT_INLINE {
          return &sums_[s.value / (P * W)][v + s.value % W][first + s.value / W % P][0];
        };
        repeat<R * P * W>([&](auto s) WEFT_INLINE { sums[s.value] = simd::load(place(s)); });
        const T *x = a + unit<T> * first, *y = rows + first * width + unit<T> * v * lanes;
        for (std::int64_t step = 0; step < steps; ++step, x += unit<T> * L, y += L * width)
          repeat<P * W>([&](auto lw) WEFT_INLINE {
            constexpr int l = lw.value / W, w = lw.value % W;
            const T* vector = y + l * width + unit<T> * w * lanes;
            const Vec<T> columns = load_units(vector);
            if constexpr (R > 1) __builtin_prefetch(y + (panel_steps<T> * L + l) * width, 0, 2);
            else if constexpr (near_bytes > 0) __builtin_prefetch(vector + near_bytes / std::int64_t{sizeof(T)}, 0, 2);
            repeat<R>([&](auto i) WEFT_INLINE {
              Vec<T>& sum = sums[(i.value * P + l) * W + w];
              sum = multiply_add<T>(broadcast_unit(x + i.value * a_row + unit<T> * l), columns, sum);
            });
          });
        repeat<R * P * W>([&](auto s) WEFT_INLINE { simd::store(place(s), sums[s.value]); });
      }
  }

  // Writes n columns of row i of C, each a sum of k units. Adds dot's partial sums in dot's order, halves to halves, but
  // for all columns of a vector at the same time. For lanes beyond k, dot adds 0.
  void finish_row(int i, std::int64_t k, std::int64_t n, Computed<T>* c, bool accumulate) const noexcept {
    for (std::int64_t j = 0; j < n; j += lanes) {
      Vec<T> sums[L];
      for (std::int64_t l = 0; l < L; ++l) {
        sums[l] = simd::load(sums_[i][j / lanes][l]);
        if (k % L != 0 && l >= k % L) sums[l] = sums[l] + Vec<T>(0);
      }
      for (std::int64_t half = L / 2; half > 0; half /= 2)
        for (std::int64_t l = 0; l < half; ++l) sums[l] = sums[l] + sums[l + half];
      write(c + j, accumulate ? read(c + j, n - j) + sums[0] : sums[0], n - j);
    }
  }

 private:
  // `width` is the number of elements in a row of the panel.
  static constexpr std::int64_t lanes = simd::lanes<T>, width = unit<T> * blocks.nv * lanes;
  static constexpr int V = blocks.nv, L = dot_lanes<T>, most = blocks.panel_sums / R;
  static constexpr int P = R == 1 ? L : most < 1 ? 1 : most < L ? most : L, W = R == 1 ? V : 1;
  static_assert(L % P == 0);
  alignas(64) Computed<T> sums_[R][V][L][lanes] = {};
};

template <int R, class T>
void rows_of_panel(std::int64_t n, std::int64_t k, const T* a, std::int64_t a_row, const T* b,
                   const PanelLayout& layout, std::int64_t j, Computed<T>* c, std::int64_t c_row,
                   bool accumulate) noexcept {
  PanelDots<R, T> dots;
  constexpr std::int64_t lanes = dot_lanes<T>, nr = blocks.nv * simd::lanes<T>;
  for (std::int64_t p = 0; p < k;) {
    const std::int64_t end = p + layout.block < k ? p + layout.block : k;
    for (const T* row = b + layout.at(p, j); p < end;) {
      std::int64_t steps = p / unit<T> % lanes == 0 ? (end - p) / (unit<T> * lanes) : 0;
      if (R > 1 && steps > panel_steps<T>) steps = panel_steps<T>;
      if (steps > 0) dots.add_units(steps, a + p, a_row, row);
      else dots.add_unit(p / unit<T>, a + p, a_row, k - p, row);
      const std::int64_t done = unit<T> * (steps > 0 ? steps * lanes : 1);
      p += done;
      row += done * nr;
    }
  }
  for (int i = 0; i < R; ++i) dots.finish_row(i, padded<T>(k) / unit<T>, n, c + i * c_row, accumulate);
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
      rows_of_panel<r.value>(columns, k, a + i * a_row, a_row, b, layout, j + done, c + i * c_row + done, c_row,
                             accumulate);
      i += r.value;
    };
    while (m - i >= 4) run(Index<4>{});
    while (m - i >= 2) run(Index<2>{});
    if (m > i) run(Index<1>{});
  }
}

}  // namespace weft::detail::WEFT_ISA
