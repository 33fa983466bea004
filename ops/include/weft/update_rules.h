// Optimizer update rules as pure functions over flat f32 or f64 tensors of one shape, in place, in one pass.
#pragma once
#include <cstdint>

#include "weft/tensor.h"

#pragma GCC visibility push(default)
namespace weft {

struct AdamOptions {
  double lr = 1e-3, beta1 = 0.9, beta2 = 0.999, eps = 1e-8, weight_decay = 0;
};

// step counts from 1. m, v: the running moments, zeros at first. grad is scaled by grad_scale when it is read
// (gradient clipping). p -= lr · m̂ / (sqrt(v̂) + eps), both bias-corrected.
// adam adds weight_decay · p to the gradient; adamw first scales p by 1 - lr · weight_decay.
void adam(Tensor& p, const Tensor& grad, Tensor& m, Tensor& v, std::int64_t step, const AdamOptions& options,
          double grad_scale = 1);
void adamw(Tensor& p, const Tensor& grad, Tensor& m, Tensor& v, std::int64_t step, const AdamOptions& options,
           double grad_scale = 1);

struct SgdOptions {
  double lr = 1e-2, momentum = 0, weight_decay = 0;
};

// g = grad + weight_decay · p; buf = momentum · buf + g (at step 1: g); p -= lr · buf.
void sgd(Tensor& p, const Tensor& grad, Tensor& buf, std::int64_t step, const SgdOptions& options,
         double grad_scale = 1);

// ‖x‖₂ of a flat tensor, summed in f64 in a fixed order.
double l2_norm(const Tensor& x);

}  // namespace weft
#pragma GCC visibility pop
