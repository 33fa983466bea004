// Optimizer updates of n flat elements, in place.
#pragma once
#include <cstdint>

#include "simd/family.h"

namespace weft::detail {

// m = beta1 m + (1-beta1) g, v = beta2 v + (1-beta2) g², p = p decay - step m / (√v inverse_root + eps):
// step = lr/(1-beta1^t), inverse_root = 1/√(1-beta2^t). g = grad grad_scale + l2 p.
template <class T>
struct AdamUpdate {
  T grad_scale, l2, beta1, one_minus_beta1, beta2, one_minus_beta2, decay, step, inverse_root, eps;
};

// g = grad grad_scale + l2 p; buf = momentum buf + g, or g if `first`; p -= lr buf.
template <class T>
struct SgdUpdate {
  T grad_scale, l2, momentum, lr;
  bool first;
};

template <class T>
struct OptimizerKernels {
  static constexpr const char* header = __FILE__;
  void (*adam)(const AdamUpdate<T>& update, T* p, const T* grad, T* m, T* v, std::int64_t n) noexcept;
  void (*sgd)(const SgdUpdate<T>& update, T* p, const T* grad, T* buf, std::int64_t n) noexcept;
};

}  // namespace weft::detail
