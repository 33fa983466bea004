#include "rows/kernels/loss.h"

#include "simd/power.h"

namespace weft::detail::WEFT_ISA {
namespace {

using simd::Vec;

template <class T>
void binary_cross_entropy(const T* x, const T* t, T* y, std::int64_t n) noexcept {
  const auto term = [](Vec<T> v, Vec<T> target) noexcept {
    const Vec<T> linear = xsimd::select(v > Vec<T>(0), v * (Vec<T>(1) - target), -v * target);
    return linear + math::log1p(math::exp_bounded(-xsimd::abs(v)));
  };
  simd::map(term, y, n, x, t);
}

template <class T>
void binary_cross_entropy_backward(const T* x, const T* t, const T* dy, T* dx, std::int64_t n) noexcept {
  const auto slope = [](Vec<T> v, Vec<T> target, Vec<T> g) noexcept { return (math::sigmoid(v) - target) * g; };
  simd::map(slope, dx, n, x, t, dy);
}

template <class T>
constexpr LossKernels<T> table() {
  return {.binary_cross_entropy = binary_cross_entropy<T>,
          .binary_cross_entropy_backward = binary_cross_entropy_backward<T>};
}

}  // namespace
}  // namespace weft::detail::WEFT_ISA

WEFT_KERNEL_TABLES(LossKernels)
