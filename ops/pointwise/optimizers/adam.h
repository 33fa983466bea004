// Adam (Kingma and Ba 2015, arXiv 1412.6980) and AdamW (Loshchilov and Hutter 2019, arXiv 1711.05101):
//   m = beta1 m + (1-beta1) g,  v = beta2 v + (1-beta2) g²,  p = p decay - step m / (√v inverse_root + eps),
//   step = lr/(1-beta1^t),  inverse_root = 1/√(1-beta2^t).
// For Adam, g = grad grad_scale + weight_decay p and decay = 1. For AdamW, g = grad grad_scale and decay is
// 1 - lr weight_decay.
#pragma once
#include <cmath>

#include "pointwise/optimizers/rule.h"

namespace weft::detail {

template <class T>
struct AdamConstants {
  T grad_scale, l2, beta1, one_minus_beta1, beta2, one_minus_beta2, decay, step, inverse_root, eps;
};

template <bool decoupled>
struct AdamRule {
  static constexpr const char* name = decoupled ? "adamw" : "adam";
  static constexpr std::size_t states = 2;
  static constexpr double weight_decay = decoupled ? 0.1 : 0, rate = 1;
  static constexpr RuleOption options[] = {
      {"beta1", 0.9, 0, 1, "decay of the gradients' mean"},
      {"beta2", decoupled ? 0.99 : 0.999, 0, 1, "decay of the gradients' mean square"},
      {"eps", 1e-8, 0, HUGE_VAL, "added to the root of the gradients' mean square"}};

  template <class T>
  using Constants = AdamConstants<T>;

  template <class T>
  static AdamConstants<T> constants(const RuleStep& s) {
    const double beta1 = s.own[0], beta2 = s.own[1], eps = s.own[2], t = static_cast<double>(s.step);
    const double mean_correction = 1 - std::pow(beta1, t), square_correction = 1 - std::pow(beta2, t);
    return {static_cast<T>(s.grad_scale),
            static_cast<T>(decoupled ? 0 : s.weight_decay),
            static_cast<T>(beta1),
            static_cast<T>(1 - beta1),
            static_cast<T>(beta2),
            static_cast<T>(1 - beta2),
            static_cast<T>(decoupled ? 1 - s.lr * s.weight_decay : 1),
            static_cast<T>(s.lr / mean_correction),
            static_cast<T>(1 / std::sqrt(square_correction)),
            static_cast<T>(eps)};
  }
};
using Adam = AdamRule<false>;
using AdamW = AdamRule<true>;

}  // namespace weft::detail

#ifdef WEFT_ISA
namespace weft::detail::WEFT_ISA {

template <class T, class V = simd::Vec<T>>
inline void update_vector(const AdamConstants<T>& u, V& p, V grad, V (&states)[2]) noexcept {
  V &m = states[0], &v = states[1];
  const V g = simd::fma(V(u.l2), p, V(u.grad_scale) * grad);
  m = simd::fma(V(u.beta1), m, V(u.one_minus_beta1) * g);
  v = simd::fma(V(u.beta2), v, V(u.one_minus_beta2) * g * g);
  const V root = simd::fma(simd::square_root(v), V(u.inverse_root), V(u.eps));
  p = simd::fnma(V(u.step), simd::quotient(m, root), p * V(u.decay));
}

}  // namespace weft::detail::WEFT_ISA
#endif
