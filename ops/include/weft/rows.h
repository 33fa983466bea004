/// \file
/// Operations along axes: sums, norms, softmax, losses, rows of a table (weft/ops.h says what holds for all operations).
#pragma once
#include <cstdint>
#include <vector>

#include "weft/tensor.h"

#pragma GCC visibility push(default)
namespace weft {

/// The sum over dims, or over all axes if there are none given; real or complex. keepdim leaves axes of size 1.
Tensor sum(const Tensor& x, const std::vector<std::int64_t>& dims = {}, bool keepdim = false);
/// The mean over dims, as sum; real. NaN of no elements.
Tensor mean(const Tensor& x, const std::vector<std::int64_t>& dims = {}, bool keepdim = false);
/// The largest along dim, real; NaN is larger than all. The gradient goes to the first maximum.
Tensor max(const Tensor& x, std::int64_t dim, bool keepdim = false);

/// Over the last `axes` axes, whose shape weight and bias have (or undefined):
/// (x - mean) / √(var + eps) · weight + bias. Of x + residual, of x's shape, if that is defined: in one pass.
/// Ba et al. 2016, arXiv 1607.06450. weight and bias are of x's dtype, or f32 if x is bf16.
Tensor layer_norm(const Tensor& x, std::int64_t axes, const Tensor& weight, const Tensor& bias, double eps = 1e-5,
                  const Tensor& residual = {});
/// SimpleRMSNorm over the last axis, of d elements: x / (‖x‖₂/√d + eps), times weight (d) if defined.
/// Of x + residual, of x's shape, if that is defined: in one pass. weight as layer_norm's.
Tensor rms_norm(const Tensor& x, const Tensor& weight = {}, double eps = 1e-8, const Tensor& residual = {});

/// e^x / Σ e^x along dim.
Tensor softmax(const Tensor& x, std::int64_t dim);
/// x - ln Σ e^x along dim.
Tensor log_softmax(const Tensor& x, std::int64_t dim);
/// logits (…, c), target (…) i64: the mean of -log softmax(logits)[target] over targets that are not ignore_index.
/// Error if a target is outside 0 … c-1. NaN if every target is ignored. f32 of bf16 logits.
Tensor cross_entropy(const Tensor& logits, const Tensor& target, std::int64_t ignore_index = -100);

/// Rows of weight (v, d), of any real dtype, by indices (…) i64: (…, d). Error if an index is outside 0 … v-1.
Tensor embedding(const Tensor& indices, const Tensor& weight);

}  // namespace weft
#pragma GCC visibility pop
