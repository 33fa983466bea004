// Values and derivatives of an activation for n elements in whole vectors. Each function is compiled once for all
// kernels of an instruction set. A kernel that processes the values further passes a buffer for them.
#pragma once
#include <type_traits>

#include "pointwise/kernels/activation_functors.h"

namespace weft::detail::WEFT_ISA {

// The number of elements of the buffer. The buffer stays in L1, and the activation is selected once per buffer.
inline constexpr std::int64_t activation_stage = 512;

template <class T>
[[gnu::noinline]] void computed_values(Activation f, std::int64_t n, T* y, const T* x) noexcept {
  with_activation(f, [=](auto g) noexcept {
    for (std::int64_t i = 0; i < n; i += simd::lanes<T>) simd::store(y + i, g.value(simd::load(x + i)));
  });
}

template <class T>
[[gnu::noinline]] void computed_derivatives(Activation f, std::int64_t n, T* y, const T* x) noexcept {
  with_activation(f, [=](auto g) noexcept {
    for (std::int64_t i = 0; i < n; i += simd::lanes<T>) simd::store(y + i, g.derivative(simd::load(x + i)));
  });
}

// Returns x in the type for computing: x itself, or y after converting x into y.
template <class T>
const Computed<T>* computed(std::int64_t n, [[maybe_unused]] Computed<T>* y, const T* x) noexcept {
  if constexpr (std::is_same_v<T, Computed<T>>) {
    return x;
  } else {
    for (std::int64_t i = 0; i < n; i += simd::lanes<T>) simd::store(y + i, simd::load(x + i));
    return y;
  }
}

// y = f(x)
template <class T>
void activation_values(Activation f, std::int64_t n, Computed<T>* y, const T* x) noexcept {
  computed_values(f, n, y, computed(n, y, x));
}

// y = f'(x)
template <class T>
void activation_derivatives(Activation f, std::int64_t n, Computed<T>* y, const T* x) noexcept {
  computed_derivatives(f, n, y, computed(n, y, x));
}

// Divides n elements into stages, and calls part(i, m) for each stage, which has m elements, starting at element i.
template <class F>
void for_activation_stages(std::int64_t n, F part) noexcept {
  for (std::int64_t i = 0; i < n; i += activation_stage) part(i, n - i < activation_stage ? n - i : activation_stage);
}

}  // namespace weft::detail::WEFT_ISA
