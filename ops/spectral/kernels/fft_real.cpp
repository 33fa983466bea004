#include "spectral/kernels/fft_real.h"

#include "spectral/kernels/fft_rows.h"

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

template <class T>
void unpack(const RealFftView<T>& plan, T weight, T* work) noexcept {
  const WorkRows<T> rows{work};
  const int64_t m = plan.half->n;
  const Vec<T> zero(T(0)), half(weight / 2);
  const ComplexVec<T> first = rows.load(plan.row_of_bin[0]);
  rows.store(plan.row_of_bin[0], {first.re + first.im, zero});
  rows.store(plan.row_of_bin[m], {first.re - first.im, zero});
  for (int64_t k = 1; 2 * k <= m; ++k) {
    const int64_t low = plan.row_of_bin[k], high = plan.row_of_bin[m - k];
    const ComplexVec<T> a = rows.load(low), b = conjugate(rows.load(high));
    const ComplexVec<T> e = scaled(a + b, half), o = times_minus_i(scaled(a - b, half));
    const ComplexVec<T> wo = product(o, Vec<T>(plan.twiddles[2 * k]), Vec<T>(plan.twiddles[2 * k + 1]));
    rows.store(high, conjugate(e - wo));
    rows.store(low, e + wo);
  }
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
  return {.unpack = unpack<T>, .pack = pack<T>, .weigh = weigh<T>};
}

}  // namespace
}  // namespace weft::detail::WEFT_ISA

WEFT_KERNEL_TABLES(RealFftKernels)
