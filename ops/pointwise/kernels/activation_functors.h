// Activations of a vector: Functor<A>::value(x) and Functor<A>::derivative(x), both for the input x. Elementwise
// kernels and epilogues receive a functor as an argument:
//   with_activation(activation, [&](auto f) { y = f.value(x); });
// An input of -inf gives NaN if the formula has a product -inf · 0 (gelu, gelu_tanh, silu), as in PyTorch.
#pragma once
#include "simd/math.h"
#include "simd/simd.h"
#include "weft/activation.h"

namespace weft::detail::WEFT_ISA {

template <Activation A>
struct Functor;

template <>
struct Functor<Activation::none> {
  template <class V>
  static V value(V x) noexcept {
    return x;
  }
  template <class V>
  static V derivative(V) noexcept {
    return V(1);
  }
};

template <>
struct Functor<Activation::relu> {
  // NaN stays NaN, because comparisons with NaN are false.
  template <class V>
  static V value(V x) noexcept {
    return simd::select(x <= V(0), V(0), x);
  }
  template <class V>
  static V derivative(V x) noexcept {
    return simd::select(x <= V(0), V(0), V(1));
  }
};

template <>
struct Functor<Activation::leaky_relu> {
  template <class V>
  static V value(V x) noexcept {
    return simd::select(x <= V(0), V(0.01) * x, x);
  }
  template <class V>
  static V derivative(V x) noexcept {
    return simd::select(x <= V(0), V(0.01), V(1));
  }
};

// xΦ(x), Φ(x) = ½(1 + erf(x/√2)); derivative Φ(x) + xφ(x), φ(x) = exp(-x²/2)/√(2π).
template <>
struct Functor<Activation::gelu> {
  template <class V>
  static V value(V x) noexcept {
    return x * math::normal_cdf(x);
  }
  template <class V>
  static V derivative(V x) noexcept {
    return math::gelu_derivative(x);
  }
};

// ½x(1 + tanh u) = x·sigmoid(2u), u = √(2/π)(x + 0.044715x³); derivative s + 2x·s(1-s)·u', s = sigmoid(2u).
template <>
struct Functor<Activation::gelu_tanh> {
  template <class V>
  static V value(V x) noexcept {
    return x * gate(x, x * x);
  }
  template <class V>
  static V derivative(V x) noexcept {
    const V x2 = simd::min(x * x, V(1e30));  // so that x2 stays finite; s(1-s) is 0 for much smaller x
    const V s = gate(x, x2);
    const V slope = simd::fma(V(6 * 0.79788456080286535588 * 0.044715), x2, V(2 * 0.79788456080286535588));
    // Multiplies by the small factor first, because x · slope may overflow where s(1-s) is 0.
    return simd::fma(x * (s * (V(1) - s)), slope, s);
  }

 private:
  template <class V>
  static V gate(V x, V x2) noexcept {
    const V slope = simd::fma(V(2 * 0.79788456080286535588 * 0.044715), x2, V(2 * 0.79788456080286535588));
    return math::sigmoid(x * slope);
  }
};

template <>
struct Functor<Activation::sigmoid> {
  template <class V>
  static V value(V x) noexcept {
    return math::sigmoid(x);
  }
  template <class V>
  static V derivative(V x) noexcept {
    const V s = math::sigmoid(x);
    return s * (V(1) - s);
  }
};

// x·s, s = sigmoid(x); derivative s + x·s(1-s).
template <>
struct Functor<Activation::silu> {
  template <class V>
  static V value(V x) noexcept {
    return x * math::sigmoid(x);
  }
  template <class V>
  static V derivative(V x) noexcept {
    const V s = math::sigmoid(x);
    return simd::fma(x, s * (V(1) - s), s);
  }
};

// elu uses exp(x) - 1. The variants elu + 1 and elu + 2 use exp(x) and exp(x) + 1. All three have the same derivative.
template <>
struct Functor<Activation::elu> {
  template <class V>
  static V value(V x) noexcept {
    return simd::select(x > V(0), x, math::expm1(x));
  }
  template <class V>
  static V derivative(V x) noexcept {
    return simd::select(x > V(0), V(1), math::exp(x));
  }
};

template <>
struct Functor<Activation::one_plus_elu> : Functor<Activation::elu> {
  template <class V>
  static V value(V x) noexcept {
    return simd::select(x > V(0), x + V(1), math::exp(x));
  }
};

template <>
struct Functor<Activation::two_plus_elu> : Functor<Activation::elu> {
  template <class V>
  static V value(V x) noexcept {
    return simd::select(x > V(0), x + V(2), math::exp(x) + V(1));
  }
};

template <>
struct Functor<Activation::tanh> {
  template <class V>
  static V value(V x) noexcept {
    return math::tanh(x);
  }
  template <class V>
  static V derivative(V x) noexcept {
    const V y = math::tanh(x);
    return simd::fnma(y, y, V(1));
  }
};

template <>
struct Functor<Activation::exp> {
  template <class V>
  static V value(V x) noexcept {
    return math::exp(x);
  }
  template <class V>
  static V derivative(V x) noexcept {
    return math::exp(x);
  }
};

// Calls f(Functor<activation>{}). f returns nothing. The function compares `activation` with one value after the other,
// once for each tile or array.
template <int number = 1, class F>
WEFT_INLINE inline void with_activation(Activation activation, F&& f) noexcept {
  if constexpr (number == activation_count) {
    f(Functor<Activation::none>{});
  } else {
    constexpr Activation candidate = static_cast<Activation>(number);
    if (activation == candidate) f(Functor<candidate>{});
    else with_activation<number + 1>(activation, f);
  }
}

}  // namespace weft::detail::WEFT_ISA
