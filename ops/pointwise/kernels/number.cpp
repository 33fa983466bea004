#include "pointwise/kernels/number.h"

#include "simd/power.h"

namespace weft::detail::WEFT_ISA {
namespace {

using simd::Vec;

template <class T>
void plus(const T* x, Computed<T> c, T* y, std::int64_t n) noexcept {
  const Vec<T> s(c);
  simd::map([s](Vec<T> v) noexcept { return v + s; }, y, n, x);
}

template <class T>
void over(const T* x, Computed<T> c, T* y, std::int64_t n) noexcept {
  const Vec<T> s(c);
  simd::map([s](Vec<T> v) noexcept { return simd::quotient(v, s); }, y, n, x);
}

template <class T>
void under(const T* x, Computed<T> c, T* y, std::int64_t n) noexcept {
  const Vec<T> s(c);
  simd::map([s](Vec<T> v) noexcept { return simd::quotient(s, v); }, y, n, x);
}

// Divides by x twice, because x² may overflow or underflow before the result does.
template <class T>
void under_slope(const T* x, Computed<T> c, const T* dy, T* dx, std::int64_t n) noexcept {
  const Vec<T> s(-c);
  simd::map([s](Vec<T> v, Vec<T> g) noexcept { return simd::quotient(simd::quotient(s, v), v) * g; }, dx, n, x, dy);
}

// Calls f(power), where power(v) is v^c. Small powers have separate code, which is faster and exact or nearly exact.
template <class T, class F>
void with_power(Computed<T> c, F f) noexcept {
  using V = Vec<T>;
  if (c == 0) f([](V) noexcept { return V(1); });
  else if (c == 1) f([](V v) noexcept { return v; });
  else if (c == 2) f([](V v) noexcept { return v * v; });
  else if (c == 3) f([](V v) noexcept { return v * v * v; });
  else if (c == -1) f([](V v) noexcept { return simd::quotient(V(1), v); });
  else f([c](V v) noexcept { return math::pow(v, V(c)); });
}

template <class T>
void power(const T* x, Computed<T> c, T* y, std::int64_t n) noexcept {
  with_power<T>(c, [=](auto raised) noexcept { simd::map(raised, y, n, x); });
}

template <class T>
void power_slope(const T* x, Computed<T> c, const T* dy, T* dx, std::int64_t n) noexcept {
  const Vec<T> s(c);
  if (c == 0) simd::map([](Vec<T>) noexcept { return Vec<T>(0); }, dx, n, x);
  else
    with_power<T>(c - 1, [=](auto raised) noexcept {
      simd::map([=](Vec<T> v, Vec<T> g) noexcept { return s * raised(v) * g; }, dx, n, x, dy);
    });
}

template <class T>
void clamp(const T* x, Computed<T> low, Computed<T> high, T* y, std::int64_t n) noexcept {
  const Vec<T> l(low), h(high);
  simd::map([l, h](Vec<T> v) noexcept { return math::at_most(math::at_least(v, l), h); }, y, n, x);
}

template <class T>
void clamp_slope(const T* x, Computed<T> low, Computed<T> high, const T* dy, T* dx, std::int64_t n) noexcept {
  const Vec<T> l(low), h(high);
  simd::map([l, h](Vec<T> v, Vec<T> g) noexcept { return simd::select((v >= l) && (v <= h), g, Vec<T>(0)); }, dx, n, x,
            dy);
}

template <class T>
constexpr NumberKernels<T> table() {
  return {.plus = plus<T>,
          .over = over<T>,
          .under = under<T>,
          .power = power<T>,
          .under_slope = under_slope<T>,
          .power_slope = power_slope<T>,
          .clamp = clamp<T>,
          .clamp_slope = clamp_slope<T>};
}

}  // namespace
}  // namespace weft::detail::WEFT_ISA

WEFT_KERNEL_TABLES_AND_BF16(NumberKernels)
