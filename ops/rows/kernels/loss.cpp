#include "rows/kernels/loss.h"

#include "simd/power.h"

namespace weft::detail::WEFT_ISA {
namespace {

using simd::Vec;

template <class T>
void binary_cross_entropy(const T* x, const T* t, T* y, std::int64_t n) noexcept {
  const auto term = [](Vec<T> v, Vec<T> target) noexcept {
    const Vec<T> linear = simd::select(v > Vec<T>(0), v * (Vec<T>(1) - target), -v * target);
    return linear + math::log1p(math::exp_bounded(-simd::abs(v)));
  };
  simd::map(term, y, n, x, t);
}

template <class T>
void binary_cross_entropy_backward(const T* x, const T* t, const T* dy, T* dx, std::int64_t n) noexcept {
  const auto slope = [](Vec<T> v, Vec<T> target, Vec<T> g) noexcept { return (math::sigmoid(v) - target) * g; };
  simd::map(slope, dx, n, x, t, dy);
}

template <class T>
void distance(Distance f, T delta, const T* x, const T* t, T* y, std::int64_t n) noexcept {
  using V = Vec<T>;
  const auto map = [=](auto term) noexcept {
    simd::map([term](V a, V b) noexcept { return term(a - b); }, y, n, x, t);
  };
  switch (f) {
    case Distance::squared: return map([](V e) noexcept { return e * e; });
    case Distance::absolute: return map([](V e) noexcept { return simd::abs(e); });
    case Distance::huber:
      return map([d = V(delta)](V e) noexcept {
        const V size = simd::abs(e), inner = math::at_most(size, d);
        return inner * (size - V(0.5) * inner);
      });
  }
}

template <class T>
void distance_backward(Distance f, T delta, const T* x, const T* t, const T* dy, T* dx, std::int64_t n) noexcept {
  using V = Vec<T>;
  const auto map = [=](auto slope) noexcept {
    simd::map([slope](V a, V b, V g) noexcept { return slope(a - b) * g; }, dx, n, x, t, dy);
  };
  switch (f) {
    case Distance::squared: return map([](V e) noexcept { return e + e; });
    case Distance::absolute:  // comparisons with NaN are false, so a NaN in e is returned
      return map([](V e) noexcept { return simd::select(e > V(0), V(1), simd::select(e < V(0), V(-1), e)); });
    case Distance::huber: return map([d = V(delta)](V e) noexcept { return math::at_most(math::at_least(e, -d), d); });
  }
}

template <class T>
constexpr LossKernels<T> table() {
  return {.distance = distance<T>,
          .distance_backward = distance_backward<T>,
          .binary_cross_entropy = binary_cross_entropy<T>,
          .binary_cross_entropy_backward = binary_cross_entropy_backward<T>};
}

}  // namespace
}  // namespace weft::detail::WEFT_ISA

WEFT_KERNEL_TABLES(LossKernels)
