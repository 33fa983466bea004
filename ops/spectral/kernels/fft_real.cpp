#include "spectral/kernels/fft_real.h"

#include "spectral/kernels/fft_descend.h"
#include "spectral/kernels/fft_move.h"

namespace weft::detail::WEFT_ISA {
namespace {

using simd::Vec;
using std::int64_t;

template <class T>
ComplexVec<T> conjugate(ComplexVec<T> v) noexcept {
  return {v.re, -v.im};
}
template <class T>
ComplexVec<T> times_i(ComplexVec<T> v) noexcept {
  return {-v.im, v.re};
}

// Calls store(k, X_k) for all bins. It stores the two bins of a pair one after the other.
template <class T, class Store>
void unpack_bins(const RealFftView<T>& plan, T weight, WorkRows<T> rows, const Store& store) noexcept {
  const int64_t m = plan.half->n;
  const Vec<T> zero(T(0)), half(weight / 2);
  const ComplexVec<T> first = rows.load(plan.row_of_bin[0]);
  store(0, {first.re + first.im, zero});
  store(m, {first.re - first.im, zero});
  for (int64_t k = 1; 2 * k <= m; ++k) {
    const ComplexVec<T> a = rows.load(plan.row_of_bin[k]), b = conjugate(rows.load(plan.row_of_bin[m - k]));
    const ComplexVec<T> e = scaled(a + b, half), o = times_minus_i(scaled(a - b, half));
    const ComplexVec<T> wo = product(o, Vec<T>(plan.twiddles[2 * k]), Vec<T>(plan.twiddles[2 * k + 1]));
    store(m - k, conjugate(e - wo));
    store(k, e + wo);
  }
}

template <class T>
void unpack(const RealFftView<T>& plan, T weight, T* work) noexcept {
  const WorkRows<T> rows{work};
  unpack_bins(plan, weight, rows, [&](int64_t k, ComplexVec<T> v) noexcept { rows.store(plan.row_of_bin[k], v); });
}

// Source: elements 2j and 2j + 1 of neighboring columns are the real and imaginary parts of element j.
template <class T>
struct PairedRows {
  const T* data;
  int64_t step;

  struct Cursor {
    const T* p;
    int64_t step, apart;

    ComplexVec<T> load(int q) const noexcept { return {simd::load(p + q * apart), simd::load(p + q * apart + step)}; }
    void next() noexcept { p += 2 * step; }
  };
  Cursor at(int64_t row, int64_t stride) const noexcept { return {data + 2 * row * step, step, 2 * stride * step}; }
};

template <class T>
bool columns(const RealFftView<T>& plan, const FftColumns<const T>& x, T weight, T factor, const FftColumns<T>& y,
             const T* next, T* work) noexcept {
  const FftView<T>& half = *plan.half;
  if (half.convolution || x.count < simd::lanes<T> || !are_neighbors(x, 1) || !are_neighbors(y, 2)) return false;
  const WorkRows<T> rows{work};
  const PairedRows<T> source{x.data + x.offset[0], x.step};
  T* to = y.data + y.offset[0];
  run_first_pass(half.pass[0], fetching<true, row_size<T>>(source, to, y.step), rows);
  descend<true, false>(half, 1, half.passes, work, 0, half.n, [](int64_t, int64_t) noexcept {});
  const Vec<T> f(factor);
  const auto ahead = fetching<false, simd::lanes<T>>(rows, next, x.step);
  unpack_bins(plan, weight, rows, [&](int64_t k, ComplexVec<T> v) noexcept {
    const auto at = ahead.at(2 * k, 1);
    at.fetch(0);
    at.fetch(1);
    store_complex(to + k * y.step, scaled(v, f));
  });
  return true;
}

template <class T>
void pack(const RealFftView<T>& plan, T weight, T* work) noexcept {
  const WorkRows<T> rows{work};
  const int64_t m = plan.half->n;
  const Vec<T> half(weight / 2);
  const Vec<T> first = rows.load(0).re, last = rows.load(m).re;
  rows.store(0, {first + last, first - last});
  for (int64_t k = 1; 2 * k <= m; ++k) {
    const ComplexVec<T> a = scaled(rows.load(k), half), b = scaled(conjugate(rows.load(m - k)), half);
    const ComplexVec<T> e = a + b;
    const ComplexVec<T> o =
        times_i(product_conj(a - b, Vec<T>(plan.twiddles[2 * k]), Vec<T>(plan.twiddles[2 * k + 1])));
    rows.store(m - k, conjugate(e - o));
    rows.store(k, e + o);
  }
}

template <class T>
void weigh(int64_t n, const std::int32_t* row, T weight, T* work) noexcept {
  const WorkRows<T> rows{work};
  const Vec<T> w(weight), zero(T(0));
  for (int64_t k = 0; 2 * k <= n; ++k) {
    const int64_t at = row ? row[k] : k;
    const ComplexVec<T> v = rows.load(at);
    if (k == 0 || 2 * k == n) rows.store(at, {v.re, zero});
    else if (weight != T(1)) rows.store(at, scaled(v, w));
  }
}

template <class T>
constexpr RealFftKernels<T> table() {
  return {.unpack = unpack<T>, .columns = columns<T>, .pack = pack<T>, .weigh = weigh<T>};
}

}  // namespace
}  // namespace weft::detail::WEFT_ISA

WEFT_KERNEL_TABLES(RealFftKernels)
