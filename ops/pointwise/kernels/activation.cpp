#include "pointwise/kernels/activation.h"

#include "pointwise/kernels/activation_functors.h"
#include "simd/rows.h"

namespace weft::detail::WEFT_ISA {
namespace {

template <class T>
[[gnu::noinline]] void forward_vectors(Activation f, std::int64_t n, T* y, const T* x) noexcept {
  with_activation(f, [=](auto g) noexcept {
    for (std::int64_t i = 0; i < n; i += simd::lanes<T>) simd::store(y + i, g.value(simd::load(x + i)));
  });
}

template <class T>
[[gnu::noinline]] void backward_vectors(Activation f, std::int64_t n, T* dx, const T* x, const T* dy) noexcept {
  with_activation(f, [=](auto g) noexcept {
    for (std::int64_t i = 0; i < n; i += simd::lanes<T>)
      simd::store(dx + i, simd::load(dy + i) * g.derivative(simd::load(x + i)));
  });
}

template <class T>
void forward(Activation f, const T* x, T* y, std::int64_t n) noexcept {
  simd::in_whole_vectors<T, 1, 1>(n, {y}, {x}, [f](std::int64_t m, T* const* to, const T* const* from) noexcept {
    forward_vectors(f, m, to[0], from[0]);
  });
}

template <class T>
void backward(Activation f, const T* x, const T* dy, T* dx, std::int64_t n) noexcept {
  simd::in_whole_vectors<T, 1, 2>(n, {dx}, {x, dy}, [f](std::int64_t m, T* const* to, const T* const* from) noexcept {
    backward_vectors(f, m, to[0], from[0], from[1]);
  });
}

template <class T>
constexpr ActivationKernels<T> table() {
  return {.forward = forward<T>, .backward = backward<T>};
}

}  // namespace
}  // namespace weft::detail::WEFT_ISA

WEFT_KERNEL_TABLES_AND_BF16(ActivationKernels)
