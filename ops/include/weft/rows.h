/// \file
/// Operations along axes: sums, norms, softmax, losses, rows of a table (see weft/ops.h for the rules of all
/// operations).
#pragma once
#include <cstdint>
#include <vector>

#include "weft/tensor.h"

#pragma GCC visibility push(default)
namespace weft {

/// The sum of a real or complex x over dims, or over all axes if dims is empty. keepdim keeps the reduced axes with
/// size 1.
Tensor sum(const Tensor& x, const std::vector<std::int64_t>& dims = {}, bool keepdim = false);
/// The mean of a real x over dims, with the rules of sum. The mean of no elements is NaN.
Tensor mean(const Tensor& x, const std::vector<std::int64_t>& dims = {}, bool keepdim = false);
/// The maximum of a real x along dim. NaN is larger than all numbers. The gradient goes to the first maximum.
Tensor max(const Tensor& x, std::int64_t dim, bool keepdim = false);

/// Layer norm over the last `axes` axes: (x - mean) / √(var + eps) · weight + bias (Ba et al. 2016, arXiv 1607.06450).
/// weight and bias have the shape of these axes, or are undefined. They have x's dtype, or f32 if x is bf16. If
/// residual is defined, it has x's shape, and the function normalizes x + residual in one pass.
Tensor layer_norm(const Tensor& x, std::int64_t axes, const Tensor& weight, const Tensor& bias, double eps = 1e-5,
                  const Tensor& residual = {});
/// SimpleRMSNorm over the last axis, of d elements: x / (‖x‖₂/√d + eps), times weight (d) if it is defined. residual
/// and the dtype of weight follow the rules of layer_norm.
Tensor rms_norm(const Tensor& x, const Tensor& weight = {}, double eps = 1e-8, const Tensor& residual = {});

/// e^x / Σ e^x along dim.
Tensor softmax(const Tensor& x, std::int64_t dim);
/// x - ln Σ e^x along dim.
Tensor log_softmax(const Tensor& x, std::int64_t dim);
/// The mean of -log softmax(logits)[target] over the targets that are not ignore_index. logits has shape (…, c), target
/// has shape (…) and dtype i64.
/// Error if a target is outside 0 … c-1. NaN if every target is ignored. For bf16 logits the result is f32.
Tensor cross_entropy(const Tensor& logits, const Tensor& target, std::int64_t ignore_index = -100);

/// Looks up rows of weight (v, d), which has a real dtype or bf16. `indices` has shape (…) and dtype i64, the result
/// has shape (…, d). Error if an index is outside 0 … v-1.
Tensor embedding(const Tensor& indices, const Tensor& weight);

}  // namespace weft
#pragma GCC visibility pop
