#include "pointwise/kernels/activation.h"

#include "pointwise/kernels/activation_functors.h"
#include "simd/simd.h"

namespace weft::detail::WEFT_ISA {
namespace {

template <class T>
void forward(Activation f, const T* x, T* y, std::int64_t n) noexcept {
  with_activation(f, [=](auto g) noexcept { simd::map([g](simd::Vec<T> v) noexcept { return g.value(v); }, y, n, x); });
}

template <class T>
void backward(Activation f, const T* x, const T* dy, T* dx, std::int64_t n) noexcept {
  with_activation(f, [=](auto g) noexcept {
    simd::map([g](simd::Vec<T> v, simd::Vec<T> d) noexcept { return d * g.derivative(v); }, dx, n, x, dy);
  });
}

template <class T>
constexpr ActivationKernels<T> table() {
  return {.forward = forward<T>, .backward = backward<T>};
}

}  // namespace
}  // namespace weft::detail::WEFT_ISA

WEFT_KERNEL_TABLES_AND_BF16(ActivationKernels)
