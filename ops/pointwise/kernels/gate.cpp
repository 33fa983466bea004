#include "pointwise/kernels/gate.h"

#include "pointwise/kernels/activation_functors.h"
#include "simd/rows.h"

namespace weft::detail::WEFT_ISA {
namespace {

template <class T>
[[gnu::noinline]] void forward_vectors(Activation f, std::int64_t n, T* y, const T* gates, const T* x) noexcept {
  with_activation(f, [=](auto g) noexcept {
    for (std::int64_t i = 0; i < n; i += simd::lanes<T>)
      simd::store(y + i, simd::load(gates + i) * g.value(simd::load(x + i)));
  });
}

template <class T>
[[gnu::noinline]] void backward_vectors(Activation f, std::int64_t n, T* dgates, T* dx, const T* gates, const T* x,
                                        const T* dy) noexcept {
  with_activation(f, [=](auto g) noexcept {
    for (std::int64_t i = 0; i < n; i += simd::lanes<T>) {
      const simd::Vec<T> d = simd::load(dy + i), v = simd::load(x + i);
      const simd::Vec<T> inner = dx ? d * simd::load(gates + i) * g.derivative(v) : d;
      if (dgates) simd::store(dgates + i, d * g.value(v));
      if (dx) simd::store(dx + i, inner);
    }
  });
}

template <class T>
void forward(Activation f, const T* gates, const T* x, T* y, std::int64_t n) noexcept {
  simd::in_whole_vectors<T, 1, 2>(n, {y}, {gates, x}, [f](std::int64_t m, T* const* to, const T* const* from) noexcept {
    forward_vectors(f, m, to[0], from[0], from[1]);
  });
}

template <class T>
void backward(Activation f, const T* gates, const T* x, const T* dy, T* dgates, T* dx, std::int64_t n) noexcept {
  simd::in_whole_vectors<T, 2, 3>(n, {dgates, dx}, {gates, x, dy},
                                  [f](std::int64_t m, T* const* to, const T* const* from) noexcept {
                                    backward_vectors(f, m, to[0], to[1], from[0], from[1], from[2]);
                                  });
}

template <class T>
constexpr GateKernels<T> table() {
  return {.forward = forward<T>, .backward = backward<T>};
}

}  // namespace
}  // namespace weft::detail::WEFT_ISA

WEFT_KERNEL_TABLES_AND_BF16(GateKernels)
