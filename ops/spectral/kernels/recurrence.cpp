#include "spectral/kernels/recurrence.h"

#include "simd/simd.h"
#include "simd/unroll.h"

namespace weft::detail::WEFT_ISA {
namespace {

using simd::Vec;
using std::int64_t;

// Computes V vectors of channels, whose sums stay in registers. λ s + v = (λ - 1) s + s + v, because near 1, λ - 1 has
// a smaller rounding error than λ.
template <class T, int V, class Load, class Store>
WEFT_INLINE inline void run_vectors(int64_t n, int64_t terms, int64_t row, const T* factors, const T* from, const T* v,
                                    T* to, T* y, Load load, Store store) noexcept {
  for (int64_t i = 0; i < n; ++i, from = to, v += row, y += row) {
    Vec<T> in[V], sums[V];
    repeat<V>([&](auto s) WEFT_INLINE {
      in[s.value] = load(v + s.value * simd::lanes<T>);
      sums[s.value] = Vec<T>(0);
    });
    for (int64_t j = 0; j < terms; ++j)
      repeat<V>([&](auto s) WEFT_INLINE {
        const int64_t at = s.value * simd::lanes<T>;
        const T *factor = factors + 4 * j * row + at, *before = from + 2 * j * row + at;
        T* after = to + 2 * j * row + at;
        const Vec<T> re = load(before), im = load(before + row);
        const Vec<T> dre = load(factor), dim = load(factor + row);
        const Vec<T> new_re = simd::fnma(dim, im, simd::fma(dre, re, re + in[s.value]));
        const Vec<T> new_im = simd::fma(dim, re, simd::fma(dre, im, im));
        sums[s.value] = simd::fma(load(factor + 2 * row), new_re, sums[s.value]);
        sums[s.value] = simd::fma(load(factor + 3 * row), new_im, sums[s.value]);
        store(after, new_re);
        store(after + row, new_im);
      });
    repeat<V>([&](auto s) WEFT_INLINE { store(y + s.value * simd::lanes<T>, sums[s.value]); });
  }
}

template <class T>
void run(int64_t n, int64_t terms, int64_t channels, int64_t row, const T* factors, const T* from, const T* v, T* to,
         T* y) noexcept {
  constexpr int64_t lanes = simd::lanes<T>;
  constexpr int vectors = 4;
  const auto load = [](const T* p) WEFT_INLINE { return simd::load(p); };
  const auto store = [](T* p, Vec<T> x) WEFT_INLINE { simd::store(p, x); };
  int64_t c = 0;
  for (; c + vectors * lanes <= channels; c += vectors * lanes)
    run_vectors<T, vectors>(n, terms, row, factors + c, from + c, v + c, to + c, y + c, load, store);
  for (; c + lanes <= channels; c += lanes)
    run_vectors<T, 1>(n, terms, row, factors + c, from + c, v + c, to + c, y + c, load, store);
  const int64_t rest = channels - c;
  if (rest == 0) return;
  run_vectors<T, 1>(
      n, terms, row, factors + c, from + c, v + c, to + c, y + c,
      [rest](const T* p) WEFT_INLINE { return simd::load_n(p, rest); },
      [rest](T* p, Vec<T> x) WEFT_INLINE { simd::store_n(p, x, rest); });
}

template <class T>
constexpr RecurrenceKernels<T> table() {
  return {.run = run<T>};
}

}  // namespace
}  // namespace weft::detail::WEFT_ISA

WEFT_KERNEL_TABLES(RecurrenceKernels)
