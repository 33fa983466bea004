#include "pointwise/kernels/elementwise.h"

#include "simd/simd.h"

namespace weft::detail::WEFT_ISA {
namespace {

struct Add {
  template <class V>
  V operator()(V a, V b) const noexcept {
    return a + b;
  }
};
struct Sub {
  template <class V>
  V operator()(V a, V b) const noexcept {
    return a - b;
  }
};
struct Mul {
  template <class V>
  V operator()(V a, V b) const noexcept {
    return a * b;
  }
};
struct Div {
  template <class V>
  V operator()(V a, V b) const noexcept {
    return simd::quotient(a, b);
  }
};

template <class T, class F>
void both(const T* a, const T* b, T* y, std::int64_t n) noexcept {
  simd::map(F{}, y, n, a, b);
}

template <class T, class F>
void scalar_right(const T* a, const T* b, T* y, std::int64_t n) noexcept {
  const simd::Vec<T> s(simd::get(b));
  simd::map([s](simd::Vec<T> v) { return F{}(v, s); }, y, n, a);
}

template <class T, class F>
void scalar_left(const T* a, const T* b, T* y, std::int64_t n) noexcept {
  const simd::Vec<T> s(simd::get(a));
  simd::map([s](simd::Vec<T> v) { return F{}(s, v); }, y, n, b);
}

template <class T>
void scale(const T* x, Computed<T> factor, T* y, std::int64_t n) noexcept {
  const simd::Vec<T> s(factor);
  simd::map([s](simd::Vec<T> v) { return v * s; }, y, n, x);
}

template <class T>
void accumulate(const T* x, Computed<T>* y, std::int64_t n) noexcept {
  simd::map([](simd::Vec<T> sum, simd::Vec<T> v) { return sum + v; }, y, n, y, x);
}

template <class T, class F>
constexpr BinaryKernel<T> binary() {
  return {.both = both<T, F>, .scalar_right = scalar_right<T, F>, .scalar_left = scalar_left<T, F>};
}

template <class T>
constexpr ElementwiseKernels<T> table() {
  return {.add = binary<T, Add>(),
          .sub = binary<T, Sub>(),
          .mul = binary<T, Mul>(),
          .div = binary<T, Div>(),
          .scale = scale<T>,
          .accumulate = accumulate<T>};
}

}  // namespace
}  // namespace weft::detail::WEFT_ISA

WEFT_KERNEL_TABLES_AND_BF16(ElementwiseKernels)
