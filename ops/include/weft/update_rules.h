/// \file
/// Optimizer update rules as pure functions over flat f32 or f64 tensors of one shape, in place, in one pass. After an
/// Error nothing is changed.
#pragma once
#include <cstdint>
#include <optional>

#include "weft/tensor.h"

#pragma GCC visibility push(default)
namespace weft {

/// Of adam and adamw.
struct AdamOptions {
  double lr = 1e-3;                          ///< the learning rate
  double beta1 = 0.9;                        ///< decay of the gradient's running mean, 0 <= beta1 < 1
  double beta2 = 0.999;                      ///< decay of its square's, 0 <= beta2 < 1
  double eps = 1e-8;                         ///< >= 0
  double weight_decay = 0;                   ///< of p
  std::optional<std::int64_t> decayed = {};  ///< the first elements of p, which alone are decayed; none: all
};

/// p -= lr · m̂ / (√v̂ + eps), both bias-corrected, with weight_decay · p added to the gradient (Kingma and Ba 2015,
/// arXiv 1412.6980). step counts from 1. m, v: the running moments, zeros at first. grad is scaled by grad_scale when
/// it is read (gradient clipping). All tensors are contiguous, of one shape and dtype.
void adam(Tensor& p, const Tensor& grad, Tensor& m, Tensor& v, std::int64_t step, const AdamOptions& options,
          double grad_scale = 1);
/// The same, but p is first scaled by 1 - lr · weight_decay instead (Loshchilov and Hutter 2019, arXiv 1711.05101).
void adamw(Tensor& p, const Tensor& grad, Tensor& m, Tensor& v, std::int64_t step, const AdamOptions& options,
           double grad_scale = 1);

/// Of sgd.
struct SgdOptions {
  double lr = 1e-2;                          ///< the learning rate
  double momentum = 0;                       ///< 0 <= momentum < 1
  double weight_decay = 0;                   ///< of p
  std::optional<std::int64_t> decayed = {};  ///< as AdamOptions'
};

/// g = grad + weight_decay · p; buf = momentum · buf + g (at step 1: g); p -= lr · buf. Otherwise as adam.
void sgd(Tensor& p, const Tensor& grad, Tensor& buf, std::int64_t step, const SgdOptions& options,
         double grad_scale = 1);

/// ‖x‖₂ of a flat tensor, summed in f64 in a fixed order.
double l2_norm(const Tensor& x);

}  // namespace weft
#pragma GCC visibility pop
