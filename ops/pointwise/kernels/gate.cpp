#include "pointwise/kernels/gate.h"

#include "pointwise/kernels/activation_functors.h"
#include "simd/rows.h"

namespace weft::detail::WEFT_ISA {
namespace {

template <class T>
void forward(Activation f, const T* gates, const T* x, T* y, std::int64_t n) noexcept {
  with_activation(f, [=](auto g) noexcept {
    simd::map([g](simd::Vec<T> a, simd::Vec<T> v) noexcept { return a * g.value(v); }, y, n, gates, x);
  });
}

template <class T>
void backward(Activation f, const T* gates, const T* x, const T* dy, T* dgates, T* dx, std::int64_t n) noexcept {
  with_activation(f, [=](auto g) noexcept {
    simd::for_vectors<T>(n, [=](auto at) noexcept {
      const simd::Vec<T> d = at.load(dy), v = at.load(x);
      const simd::Vec<T> inner = dx ? d * at.load(gates) * g.derivative(v) : d;
      if (dgates) at.store(dgates, d * g.value(v));
      if (dx) at.store(dx, inner);
    });
  });
}

template <class T>
constexpr GateKernels<T> table() {
  return {.forward = forward<T>, .backward = backward<T>};
}

}  // namespace
}  // namespace weft::detail::WEFT_ISA

WEFT_KERNEL_TABLES_AND_BF16(GateKernels)
