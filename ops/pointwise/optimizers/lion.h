// Lion (Chen et al. 2023, arXiv 2302.06675, algorithm 2): g = grad grad_scale; c = beta1 m + (1-beta1) g;
// p = p - lr (sign(c) + weight_decay p); m = beta2 m + (1-beta2) g.
#pragma once
#include "pointwise/optimizers/rule.h"

namespace weft::detail {

template <class T>
struct LionConstants {
  T grad_scale, beta1, one_minus_beta1, beta2, one_minus_beta2, decay, lr;
};

// All elements take steps of the same size. The learning rates in the paper are a third to a tenth of AdamW's, and its
// weight decays are larger by the same factor.
struct Lion {
  static constexpr const char* name = "lion";
  static constexpr std::size_t states = 1;
  static constexpr double weight_decay = 1, rate = 0.1;
  static constexpr RuleOption options[] = {
      {"beta1", 0.9, 0, 1, "weight of the gradients' mean in the sum whose sign is used"},
      {"beta2", 0.99, 0, 1, "decay of the gradients' mean"}};

  template <class T>
  using Constants = LionConstants<T>;

  template <class T>
  static LionConstants<T> constants(const RuleStep& s) {
    const double beta1 = s.own[0], beta2 = s.own[1];
    return {static_cast<T>(s.grad_scale), static_cast<T>(beta1),     static_cast<T>(1 - beta1),
            static_cast<T>(beta2),        static_cast<T>(1 - beta2), static_cast<T>(1 - s.lr * s.weight_decay),
            static_cast<T>(s.lr)};
  }
};

}  // namespace weft::detail

#ifdef WEFT_ISA
namespace weft::detail::WEFT_ISA {

template <class T, class V = simd::Vec<T>>
inline void update_vector(const LionConstants<T>& u, V& p, V grad, V (&states)[1]) noexcept {
  V& m = states[0];
  const V g = V(u.grad_scale) * grad, c = simd::fma(V(u.beta1), m, V(u.one_minus_beta1) * g);
  const V step = simd::select(c > V(0), V(u.lr), simd::select(c < V(0), V(-u.lr), V(0)));
  p = simd::fma(p, V(u.decay), -step);
  m = simd::fma(V(u.beta2), m, V(u.one_minus_beta2) * g);
}

}  // namespace weft::detail::WEFT_ISA
#endif
