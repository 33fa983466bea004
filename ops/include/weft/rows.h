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

/// The minimum of a real x along dim, with the rules of max: it is NaN if there is one.
Tensor min(const Tensor& x, std::int64_t dim, bool keepdim = false);
/// The index of the first maximum of a real x along dim, i64. NaN is larger than all numbers.
Tensor argmax(const Tensor& x, std::int64_t dim, bool keepdim = false);
/// The index of the first minimum, i64. NaN is smaller than all numbers here.
Tensor argmin(const Tensor& x, std::int64_t dim, bool keepdim = false);

/// Elements and their indices along an axis.
struct TopK {
  Tensor values;   ///< differentiable
  Tensor indices;  ///< i64, of the same shape
};
/// The k largest elements of a real x along dim, the largest first, or the k smallest. Of equal elements the first is
/// first. NaN is larger than all numbers, as in PyTorch. Error unless 0 <= k <= size.
TopK topk(const Tensor& x, std::int64_t k, std::int64_t dim = -1, bool largest = true);

/// y_i = x_0 + … + x_i along dim, for a real x. For bf16 the sums are in f32, and each is rounded once.
Tensor cumsum(const Tensor& x, std::int64_t dim);
/// y_i = x_0 · … · x_i along dim, with the rules of cumsum. The gradient is right where elements are 0, too.
Tensor cumprod(const Tensor& x, std::int64_t dim);

/// The p-norm of a real x over dims, or over all axes if dims is empty: Σ|x|, √Σx² or max|x| for p = 1, 2 or infinity.
/// Error for another p. The gradient of the 2-norm is 0 where it is 0.
Tensor norm(const Tensor& x, double p = 2, const std::vector<std::int64_t>& dims = {}, bool keepdim = false);
/// The variance of a real x over dims, or over all axes: Σ(x - mean)² / (n - correction), in two passes. NaN or infinity
/// unless n > correction.
Tensor var(const Tensor& x, const std::vector<std::int64_t>& dims = {}, std::int64_t correction = 1,
           bool keepdim = false);
/// ln Σ e^x along dim, which does not overflow.
Tensor logsumexp(const Tensor& x, std::int64_t dim, bool keepdim = false);

/// The maximum of each window along the last axis: x (…, n) -> (…, m), m = (n - kernel) / stride + 1, rounded down.
/// Error unless 1 <= kernel <= n and stride >= 1; a stride of 0 is the kernel's size.
Tensor max_pool1d(const Tensor& x, std::int64_t kernel, std::int64_t stride = 0);
/// The mean of each window, with the rules of max_pool1d.
Tensor mean_pool1d(const Tensor& x, std::int64_t kernel, std::int64_t stride = 0);

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

/// What a loss returns for the terms of all elements.
enum class Reduction {
  none,       ///< the terms, in the shape of the inputs
  mean,       ///< their mean
  sum,        ///< their sum
  batch_mean  ///< their sum, divided by the size of the first axis
};

/// The losses of two tensors: x, which a model computed, and a target of the same shape. Both are real or bf16; a
/// target of another dtype is cast to x's. For bf16 the losses compute in f32 and return f32. They are differentiable
/// in both.
///
/// (x - target)²
Tensor mse_loss(const Tensor& x, const Tensor& target, Reduction reduction = Reduction::mean);
/// |x - target|, with the rules of mse_loss. The gradient is 0 where both are equal.
Tensor l1_loss(const Tensor& x, const Tensor& target, Reduction reduction = Reduction::mean);
/// e²/2 where |e| <= delta, else delta (|e| - delta/2), with e = x - target (Huber 1964), with the rules of mse_loss.
/// Error unless delta > 0.
Tensor huber_loss(const Tensor& x, const Tensor& target, double delta = 1, Reduction reduction = Reduction::mean);
/// The binary cross entropy of sigmoid(logits) and targets from 0 to 1, in nats: -t ln p - (1 - t) ln(1 - p), with the
/// rules of mse_loss. It is computed as max(x, 0) - x t + ln(1 + e^-|x|), which does not overflow.
Tensor binary_cross_entropy_with_logits(const Tensor& logits, const Tensor& target,
                                        Reduction reduction = Reduction::mean);
/// The terms t (ln t - x) of the Kullback-Leibler divergence, like PyTorch's kl_div: x contains logarithms of
/// probabilities, the target t contains probabilities, or their logarithms if log_target is set. Otherwise with the
/// rules of mse_loss. The divergence of rows of probabilities is the sum over each row. So Reduction::batch_mean is the
/// mean divergence of the rows of a matrix, and Reduction::mean is smaller by a factor of the number of columns. Where
/// t is 0, ln t counts as 0.
Tensor kl_divergence(const Tensor& x, const Tensor& target, Reduction reduction = Reduction::mean,
                     bool log_target = false);

/// Looks up rows of weight (v, d), which has a real dtype or bf16. `indices` has shape (…) and dtype i64, the result
/// has shape (…, d). Error if an index is outside 0 … v-1.
Tensor embedding(const Tensor& indices, const Tensor& weight);

}  // namespace weft
#pragma GCC visibility pop
