#include "spectral/kernels/fft.h"

#include "spectral/kernels/fft_descend.h"
#include "spectral/kernels/fft_move.h"

namespace weft::detail::WEFT_ISA {
namespace {

using simd::Vec;
using std::int64_t;

constexpr auto no_leaf = [](int64_t, int64_t) noexcept {};

template <class T>
void passes(const FftView<T>& plan, T* work) noexcept {
  descend<true, false>(plan, 0, plan.passes, work, 0, plan.n, no_leaf);
}

// Transforms by Bluestein's algorithm. The inverse transform of the convolution is a forward transform whose result is
// read backward.
template <class T>
void bluestein(const FftView<T>& plan, T* work) noexcept {
  const FftView<T>& convolution = *plan.convolution;
  const WorkRows<T> rows{work};
  const T *b = plan.chirp, *spectrum = plan.chirp_spectrum;
  const Vec<T> zero(T(0));
  for (int64_t k = 0; k < plan.n; ++k)
    rows.store(k, product_conj(rows.load(k), Vec<T>(b[2 * k]), Vec<T>(b[2 * k + 1])));
  for (int64_t k = plan.n; k < convolution.n; ++k) rows.store(k, {zero, zero});
  const auto multiply = [&](int64_t base, int64_t length) noexcept {
    for (int64_t k = base; k < base + length; ++k)
      rows.store(k, exchanged(product(rows.load(k), Vec<T>(spectrum[2 * k]), Vec<T>(spectrum[2 * k + 1]))));
  };
  descend<true, true>(convolution, 0, convolution.passes, work, 0, convolution.n, multiply);
  for (int64_t k = 0; k < plan.n; ++k)
    rows.store(k, product_conj(exchanged(rows.load(k)), Vec<T>(b[2 * k]), Vec<T>(b[2 * k + 1])));
}

template <class T>
void forward(const FftView<T>& plan, T* work) noexcept {
  if (plan.convolution) bluestein(plan, work);
  else passes(plan, work);
}

// Runs the passes with fused copies: the first pass reads x from `source`, and the last pass writes to `target`.
template <class T, class Source, class Target>
void fused(const FftView<T>& plan, const FftColumns<const T>& x, Source source, Target target, T* work) noexcept {
  const WorkRows<T> rows{work};
  const int64_t last = plan.passes - 1;
  if (last == 0) gather_complex(plan.n, x, work);
  else run_first_pass(plan.pass[0], source, rows);
  const auto store = [&](int64_t base, int64_t length) noexcept { run_last_pass(plan, base, length, rows, target); };
  descend<true, false>(plan, last == 0 ? 0 : 1, last, work, 0, plan.n, store);
}

// For contiguous columns of R elements and a plan whose only pass has radix R. Transforms squares of x into squares of
// y in registers.
template <int R, bool Inverse, class T>
[[gnu::noinline]] WEFT_FLATTEN void short_columns(const FftColumns<const T>& x, T factor,
                                                  const FftColumns<T>& y) noexcept {
  constexpr int L = static_cast<int>(simd::lanes<T>), squares = 2 * R / L;
  const Vec<T> f(factor);
  Vec<T> v[2 * R];
  repeat<squares>([&](auto s) WEFT_INLINE { load_square(x, s.value * L, L, v + s.value * L); });
  ComplexVec<T> a[R];
  repeat<R>([&](auto k) WEFT_INLINE { a[k.value] = {v[2 * k.value], v[2 * k.value + 1]}; });
  Butterfly<T, R>::run(a, nullptr);
  repeat<R>([&](auto k) WEFT_INLINE {
    constexpr int bin = Inverse ? (R - decltype(k)::value) % R : decltype(k)::value;
    v[2 * k.value] = a[bin].re * f;
    v[2 * k.value + 1] = a[bin].im * f;
  });
  repeat<squares>([&](auto s) WEFT_INLINE { store_square(y, s.value * L, L, v + s.value * L); });
}

template <class T>
void complex_columns(const FftView<T>& plan, const FftColumns<const T>& x, bool inverse, T factor,
                     const FftColumns<T>& y, const T* next, bool streamed, T* work) noexcept {
  constexpr int numbers = static_cast<int>(row_size<T>), bytes = numbers * static_cast<int>(sizeof(T));
  if (plan.passes == 1 && plan.pass[0].radix == 16 && x.step == 2 && y.step == 2)
    return inverse ? short_columns<16, true>(x, factor, y) : short_columns<16, false>(x, factor, y);
  const bool whole = x.count == simd::lanes<T> && are_neighbors(x, 2) && are_neighbors(y, 2);
  if (!whole || plan.convolution) {
    gather_complex(plan.n, x, work);
    forward(plan, work);
    return scatter_complex(plan.n, plan.row_of_bin, work, inverse, factor, y);
  }
  T* to = y.data + y.offset[0];
  const ComplexRows<T> source{x.data + x.offset[0], x.step};
  if constexpr (simd::has_streams<bytes>) {
    if (streamed && simd::are_lines(to, y.step * static_cast<int64_t>(sizeof(T)))) {
      const ComplexBins<true, T> target{to, y.step, plan.n, inverse, factor};
      fused(plan, x, source, fetching<false, numbers>(target, next, x.step), work);
      return simd::end_streams();
    }
  }
  const ComplexBins<false, T> target{to, y.step, plan.n, inverse, factor};
  fused(plan, x, fetching<true, numbers>(source, to, y.step), fetching<false, numbers>(target, next, x.step), work);
}

template <class T>
constexpr FftKernels<T> table() {
  return {.lanes = simd::lanes<T>,
          .gather = gather<T>,
          .scatter = scatter<T>,
          .scatter_mirrored = scatter_mirrored<T>,
          .gather_complex = gather_complex<T>,
          .scatter_complex = scatter_complex<T>,
          .forward = forward<T>,
          .complex = complex_columns<T>};
}

}  // namespace
}  // namespace weft::detail::WEFT_ISA

WEFT_KERNEL_TABLES(FftKernels)
