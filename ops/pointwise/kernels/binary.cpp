#include "pointwise/kernels/binary.h"

#include "pointwise/kernels/operand.h"
#include "simd/power.h"

namespace weft::detail::WEFT_ISA {
namespace {

// NaN is not equal to itself. If b is NaN, the comparison of a and b is false. xsimd's != can't be used, because it is
// false for NaN with AVX-512.
struct Maximum {
  template <class V>
  V operator()(V a, V b) const noexcept {
    return simd::select(a == a, simd::select(a > b, a, b), a);
  }
};
struct Minimum {
  template <class V>
  V operator()(V a, V b) const noexcept {
    return simd::select(a == a, simd::select(a < b, a, b), a);
  }
};
struct Pow {
  template <class V>
  V operator()(V a, V b) const noexcept {
    return math::pow(a, b);
  }
};
struct Larger {
  template <class V>
  V operator()(V a, V b, V dy) const noexcept {
    return simd::select(a < b, V(0), simd::select(a == b, V(0.5) * dy, dy));
  }
};
struct Smaller {
  template <class V>
  V operator()(V a, V b, V dy) const noexcept {
    return simd::select(a > b, V(0), simd::select(a == b, V(0.5) * dy, dy));
  }
};
struct PowBase {
  template <class V>
  V operator()(V a, V b, V dy) const noexcept {
    return simd::select(b == V(0), V(0), b * math::pow(a, b - V(1)) * dy);
  }
};
struct PowExponent {
  template <class V>
  V operator()(V a, V b, V dy) const noexcept {
    return simd::select((a == V(0)) && (b >= V(0)), V(0), math::pow(a, b) * math::log(a) * dy);
  }
};

template <class T, class F>
void forward(const T* a, std::int64_t a_stride, const T* b, std::int64_t b_stride, T* y, std::int64_t n) noexcept {
  const Operand<T> left(a, a_stride), right(b, b_stride);
  simd::for_vectors<T>(n, [&](auto at) noexcept { at.store(y, F{}(left.load(at), right.load(at))); });
}

template <class T, class F>
void backward(const T* a, std::int64_t a_stride, const T* b, std::int64_t b_stride, const T* dy, T* dx,
              std::int64_t n) noexcept {
  const Operand<T> left(a, a_stride), right(b, b_stride);
  simd::for_vectors<T>(n, [&](auto at) noexcept { at.store(dx, F{}(left.load(at), right.load(at), at.load(dy))); });
}

template <class T>
constexpr BinaryKernels<T> table() {
  return {.maximum = forward<T, Maximum>,
          .minimum = forward<T, Minimum>,
          .pow = forward<T, Pow>,
          .larger = backward<T, Larger>,
          .smaller = backward<T, Smaller>,
          .pow_base = backward<T, PowBase>,
          .pow_exponent = backward<T, PowExponent>};
}

}  // namespace
}  // namespace weft::detail::WEFT_ISA

WEFT_KERNEL_TABLES_AND_BF16(BinaryKernels)
