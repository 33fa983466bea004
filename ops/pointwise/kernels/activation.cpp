#include "pointwise/kernels/activation.h"

#include "pointwise/kernels/activation_vectors.h"
#include "simd/rows.h"

namespace weft::detail::WEFT_ISA {
namespace {

template <class T>
void forward_vectors(Activation f, std::int64_t n, T* y, const T* x) noexcept {
  if constexpr (std::is_same_v<T, Computed<T>>) {
    activation_values(f, n, y, x);
  } else {
    Computed<T> values[activation_stage];
    for_activation_stages(n, [&](std::int64_t first, std::int64_t m) noexcept {
      activation_values(f, m, values, x + first);
      for (std::int64_t i = 0; i < m; i += simd::lanes<T>) simd::store(y + first + i, simd::load(values + i));
    });
  }
}

template <class T>
void backward_vectors(Activation f, std::int64_t n, T* dx, const T* x, const T* dy) noexcept {
  Computed<T> slopes[activation_stage];
  for_activation_stages(n, [&](std::int64_t first, std::int64_t m) noexcept {
    activation_derivatives(f, m, slopes, x + first);
    for (std::int64_t i = 0; i < m; i += simd::lanes<T>)
      simd::store(dx + first + i, simd::load(dy + first + i) * simd::load(slopes + i));
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
