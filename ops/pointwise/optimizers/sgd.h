// Stochastic gradient descent with momentum: g = grad grad_scale + weight_decay p; buf = momentum buf + g, but buf = g
// at the first step; p -= lr buf.
#pragma once
#include "pointwise/optimizers/rule.h"

namespace weft::detail {

template <class T>
struct SgdConstants {
  T grad_scale, l2, momentum, lr;
  bool first;
};

struct Sgd {
  static constexpr const char* name = "sgd";
  static constexpr std::size_t states = 1;
  static constexpr double weight_decay = 0, rate = 1;
  static constexpr RuleOption options[] = {{"momentum", 0.9, 0, 1, "fraction of the last change that is kept"}};

  template <class T>
  using Constants = SgdConstants<T>;

  template <class T>
  static SgdConstants<T> constants(const RuleStep& s) {
    return {static_cast<T>(s.grad_scale), static_cast<T>(s.weight_decay), static_cast<T>(s.own[0]),
            static_cast<T>(s.lr), s.step == 1};
  }
};

}  // namespace weft::detail

#ifdef WEFT_ISA
namespace weft::detail::WEFT_ISA {

template <class T, class V = simd::Vec<T>>
inline void update_vector(const SgdConstants<T>& u, V& p, V grad, V (&states)[1]) noexcept {
  V g = simd::fma(V(u.l2), p, V(u.grad_scale) * grad);
  if (!u.first) g = simd::fma(V(u.momentum), states[0], g);
  states[0] = g;
  p = simd::fnma(V(u.lr), g, p);
}

}  // namespace weft::detail::WEFT_ISA
#endif
