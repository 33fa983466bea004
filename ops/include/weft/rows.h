/// \file
/// Operations along axes: reductions, normalization, softmax, losses and embedding (see weft/ops.h for the rules of all
/// operations).
#pragma once
#include <cstdint>
#include <vector>

#include "weft/tensor.h"
#include "weft/visibility.h"

WEFT_PUBLIC_BEGIN
namespace weft {

/// The sum of a real or complex x over dims, or over all axes if dims is empty. If keepdim is true, the result keeps
/// the reduced axes with size 1.
Tensor sum(const Tensor& x, const std::vector<std::int64_t>& dims = {}, bool keepdim = false);
/// The mean of a real x over dims, with the rules of sum. The mean of no elements is NaN.
Tensor mean(const Tensor& x, const std::vector<std::int64_t>& dims = {}, bool keepdim = false);
/// The maximum of a real x along dim. NaN counts as larger than all numbers. The gradient goes to the first maximum.
Tensor max(const Tensor& x, std::int64_t dim, bool keepdim = false);

/// The minimum of a real x along dim, with the rules of max. NaN counts as smaller than all numbers, so the result is
/// NaN if any element is NaN.
Tensor min(const Tensor& x, std::int64_t dim, bool keepdim = false);
/// The index (i64) of the first maximum of a real x along dim. NaN counts as larger than all numbers.
Tensor argmax(const Tensor& x, std::int64_t dim, bool keepdim = false);
/// The index (i64) of the first minimum of a real x along dim. NaN counts as smaller than all numbers.
Tensor argmin(const Tensor& x, std::int64_t dim, bool keepdim = false);

/// The result of topk: elements of a tensor, and their indices along an axis.
struct TopK {
  Tensor values;   ///< the elements; differentiable
  Tensor indices;  ///< their indices along the axis, with dtype i64 and the shape of values
};
/// The k largest elements of a real x along dim, in descending order. If `largest` is false, topk returns the k
/// smallest elements in ascending order. Equal elements keep their order. NaN counts as larger than all numbers, as in
/// PyTorch. Error unless 0 <= k <= x.size(dim).
TopK topk(const Tensor& x, std::int64_t k, std::int64_t dim = -1, bool largest = true);

/// The cumulative sum y_i = x_0 + … + x_i along dim, for a real x. For bf16 the sums are computed in f32, and each
/// result is rounded once.
Tensor cumsum(const Tensor& x, std::int64_t dim);
/// The cumulative product y_i = x_0 · … · x_i along dim, with the rules of cumsum. The gradient is also correct where
/// elements are 0.
Tensor cumprod(const Tensor& x, std::int64_t dim);

/// The p-norm of a real x over dims, or over all axes if dims is empty: Σ|x| for p = 1, √Σx² for p = 2, or max|x| if p
/// is infinite. Error for any other p. Where the 2-norm is 0, its gradient is 0.
Tensor norm(const Tensor& x, double p = 2, const std::vector<std::int64_t>& dims = {}, bool keepdim = false);
/// The variance of a real x over dims, or over all axes if dims is empty: Σ(x - mean)² / (n - correction), where n is
/// the number of elements in each sum. The variance is computed in two passes. If n <= correction, the result is NaN or
/// infinite.
Tensor var(const Tensor& x, const std::vector<std::int64_t>& dims = {}, std::int64_t correction = 1,
           bool keepdim = false);
/// ln Σ e^x along dim, for a real x. The computation does not overflow.
Tensor logsumexp(const Tensor& x, std::int64_t dim, bool keepdim = false);

/// The maximum of each window of `kernel` elements along the last axis: x (…, n) -> y (…, m) with
/// m = (n - kernel) / stride + 1, rounded down. `stride` is the distance from one window to the next, and 0 means a
/// stride of `kernel`. Error unless 1 <= kernel <= n and stride >= 0.
Tensor max_pool1d(const Tensor& x, std::int64_t kernel, std::int64_t stride = 0);
/// The mean of each window, with the rules of max_pool1d.
Tensor mean_pool1d(const Tensor& x, std::int64_t kernel, std::int64_t stride = 0);

/// Layer norm over the last `axes` axes: (x - mean) / √(var + eps) · weight + bias (Ba et al. 2016, arXiv 1607.06450).
/// weight and bias have the shape of these axes, or are undefined. Their dtype is that of x, or f32 if x is bf16. If
/// the residual is defined, it has x's shape, and the function computes and normalizes x + residual in one pass.
Tensor layer_norm(const Tensor& x, std::int64_t axes, const Tensor& weight, const Tensor& bias, double eps = 1e-5,
                  const Tensor& residual = {});
/// SimpleRMSNorm over the last axis, which has d elements: x / (‖x‖₂/√d + eps). If weight (d) is defined, the result is
/// multiplied by it. The residual and the dtype of the weight follow the rules of layer_norm.
Tensor rms_norm(const Tensor& x, const Tensor& weight = {}, double eps = 1e-8, const Tensor& residual = {});

/// e^x / Σ e^x along dim.
Tensor softmax(const Tensor& x, std::int64_t dim);
/// x - ln Σ e^x along dim.
Tensor log_softmax(const Tensor& x, std::int64_t dim);
/// The cross entropy in nats: the mean of -ln softmax(logits)[target] over all targets that are not ignore_index.
/// logits has shape (…, c). target has shape (…) and dtype i64. Error if a target other than ignore_index is outside 0
/// … c-1. The result is NaN if every target is ignored. For bf16 logits, the result is f32.
Tensor cross_entropy(const Tensor& logits, const Tensor& target, std::int64_t ignore_index = -100);

/// How a loss combines the terms of all elements into its result.
enum class Reduction {
  none,       ///< returns all terms, in the shape of the inputs
  mean,       ///< the mean of the terms
  sum,        ///< the sum of the terms
  batch_mean  ///< the sum of the terms, divided by the size of the first axis
};

/// The squared error (x - target)².
///
/// These rules apply to this loss and to the following ones. x is the output of a model, and the target has the same
/// shape. Both are real or bf16. If the dtype of the target differs from x's dtype, the target is cast to x's dtype.
/// For a bf16 x, the loss computes in f32 and returns f32. The losses are differentiable with respect to both
/// arguments.
Tensor mse_loss(const Tensor& x, const Tensor& target, Reduction reduction = Reduction::mean);
/// The absolute error |x - target|, with the rules of mse_loss. The gradient is 0 where x equals the target.
Tensor l1_loss(const Tensor& x, const Tensor& target, Reduction reduction = Reduction::mean);
/// The Huber loss (Huber 1964), with the rules of mse_loss: e²/2 where |e| <= delta, otherwise delta · (|e| - delta/2),
/// with e = x - target. Error unless delta is positive and finite.
Tensor huber_loss(const Tensor& x, const Tensor& target, double delta = 1, Reduction reduction = Reduction::mean);
/// The binary cross entropy in nats, with the rules of mse_loss: -t ln p - (1 - t) ln(1 - p), where p = sigmoid(x) for
/// a logit x, and t is a target from 0 to 1. It is computed as max(x, 0) - x t + ln(1 + e^-|x|), which does not
/// overflow.
Tensor binary_cross_entropy_with_logits(const Tensor& logits, const Tensor& target,
                                        Reduction reduction = Reduction::mean);
/// The Kullback-Leibler divergence, like PyTorch's kl_div. Its terms are t (ln t - x). The rules of mse_loss apply. x
/// contains logarithms of probabilities. The target t contains probabilities, or their logarithms if log_target is
/// true. Where t is 0, ln t counts as 0. The divergence of a row of probabilities is the sum of its terms. For a
/// matrix, Reduction::batch_mean therefore gives the mean divergence of the rows. Reduction::mean gives this value
/// divided by the number of columns.
Tensor kl_divergence(const Tensor& x, const Tensor& target, Reduction reduction = Reduction::mean,
                     bool log_target = false);

/// Looks up rows of weight (v, d), which has a real dtype or bf16. `indices` has shape (…) and dtype i64. The result
/// has shape (…, d) and the weight's dtype. Error if an index is outside 0 … v-1.
Tensor embedding(const Tensor& indices, const Tensor& weight);

}  // namespace weft
WEFT_PUBLIC_END
