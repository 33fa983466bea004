/// \file
/// Matrix products, linear layers, einsum and convolution (see weft/ops.h for the rules of all operations).
#pragma once
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "weft/activation.h"
#include "weft/cpu.h"
#include "weft/tensor.h"
#include "weft/visibility.h"

WEFT_PUBLIC_BEGIN
namespace weft {

/// The matrix product with the rules of numpy.matmul. a has shape (…, m, k) or (k), and b has shape (…, k, n) or (k).
/// The operands are real, bf16 or complex. Unless stated otherwise, the products in this header accumulate bf16 input
/// in f32 and round each element of the result once, to bf16.
Tensor matmul(const Tensor& a, const Tensor& b);

/// The operations that `linear` fuses with the product, so that y = residual + gate ⊙ act(x Wᵀ + b). They run on each
/// tile of x Wᵀ + b while the tile is still in cache.
struct Epilogue {
  Epilogue() = default;
  /// An activation, and optionally a gate and a residual of y's shape. An Activation alone converts to an Epilogue:
  /// linear(x, weight, bias, Activation::gelu).
  Epilogue(Activation function, Tensor gate_of_y = {}, Tensor residual_of_y = {})
      : activation(function), gate(std::move(gate_of_y)), residual(std::move(residual_of_y)) {}
  /// The epilogue for y = residual + x Wᵀ + b. If the residual is undefined, nothing is added.
  static Epilogue adding(Tensor residual) { return {Activation::none, {}, std::move(residual)}; }

  Activation activation = Activation::none;  ///< applied to x Wᵀ + b
  Tensor gate;                               ///< has y's shape, or is undefined
  Tensor residual;                           ///< has y's shape, or is undefined
};
/// A linear layer: y = x Wᵀ + b, followed by the epilogue. x (…, in), weight (out, in), bias (out) or undefined; y
/// (…, out). All tensors have the same dtype, with one exception for mixed precision: if x is bf16, then the gate,
/// residual and y are bf16, but weight and bias may each be bf16 or f32 (f32 master weights). An f32 weight is rounded
/// to bf16 for the product. The gradients of an f32 weight and bias are f32 and are never rounded to bf16.
Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias = {}, const Epilogue& epilogue = {});

/// The dot product of each row of a matrix (n, k) with the vector x (k). Both have the same dtype. The result has shape
/// (n) and the same dtype, except that it is f32 for bf16 input. The function reads each row only once, so memory
/// bandwidth limits its speed. It has no gradient.
Tensor row_products(const Tensor& rows, const Tensor& x);

/// A weight (out, in) for linear, of dtype f32, f64 or bf16, together with a packed copy of it. The elements of the
/// copy are in the order in which products read them, so that inference does not rearrange the weight in each call. The
/// copy is used if x has the copy's dtype and the current instruction set is the one for which the copy was made.
/// Otherwise, the weight itself is used. Products also read the weight itself if it has at most 8 rows or at most one
/// column. The weight is a constant here and gets no gradient. Thread-safe.
class PackedWeight {
 public:
  /// Packs the weight for an x of the weight's dtype.
  explicit PackedWeight(const Tensor& weight);
  /// Packs the weight for an x of `dtype`, which may be the weight's own dtype, bf16 for an f32 weight, or f32 for a
  /// bf16 weight. A bf16 copy of an f32 weight is rounded.
  PackedWeight(const Tensor& weight, DType dtype);
  /// The original weight.
  const Tensor& weight() const noexcept { return weight_; }
  /// The dtype of x for which the weight is packed.
  DType dtype() const noexcept { return panels_.dtype(); }
  /// The instruction set for which the weight is packed.
  Isa isa() const noexcept { return isa_; }
  /// False if the weight was written to after it was packed.
  bool is_current() const { return weight_.version() == version_; }

 private:
  friend Tensor packed_linear(const Tensor& x, const PackedWeight& weight, const Tensor& bias,
                              const Epilogue& epilogue);

  Tensor weight_, panels_;  // panels_: all panels in one flat tensor
  std::uint64_t version_;
  Isa isa_;
};

/// Like linear, with a packed weight. Returns the same values as linear. Error if the weight was written to after it
/// was packed.
Tensor packed_linear(const Tensor& x, const PackedWeight& weight, const Tensor& bias = {},
                     const Epilogue& epilogue = {});

/// gMLP's spatial gating (arXiv 2105.08050, section 2.2). gate and x (n, b, d), weight (n, n), bias (n); y (n, b, d):
/// y_i = gate_i ⊙ (Σ_j weight_ij x_j + bias_i).
/// If `causal` is true, the sum covers only j <= i, and the other elements of the weight have no effect. Almost half of
/// the products are then skipped. Some products next to the diagonal are still computed, with 0 instead of the weight.
/// Therefore, if x_j is not finite, y_i may become NaN for some i < j. If gate and x are bf16, weight and bias may each
/// be bf16 or f32, as in linear.
Tensor spatial_gate(const Tensor& gate, const Tensor& x, const Tensor& weight, const Tensor& bias, bool causal = false);

/// The causal spatial_gate for only the last token, for texts that grow token by token. x has one tensor (n, d) for
/// each text, with one row for each token. Each text has its own n. gate (1, texts, d) holds the gates of the last
/// tokens. weight (≥ n, ≥ n) and bias (≥ n) may be larger than needed. The result y (1, texts, d) is
/// gate ⊙ (Σ_j weight_ij x_j + bias_i), where i = n - 1.
/// The sums are computed in the order of j, so the bits of one text's result don't depend on the other texts.
/// Intermediate values are not rounded. The dtypes follow the rules of spatial_gate. For inference only: nothing is
/// recorded.
Tensor spatial_gate_last(const Tensor& gate, const std::vector<Tensor>& x, const Tensor& weight, const Tensor& bias);

/// The same as numpy.einsum, including the whole syntax of numpy's equations. An axis of size 1 is broadcast to the
/// size that its index has in the other operands. The operands are real, bf16 or complex, and have the same dtype. With
/// more than two operands, each product of two tensors is rounded to this dtype.
Tensor einsum(const std::string& equation, const std::vector<Tensor>& operands);

/// The options of conv1d.
struct Conv1dOptions {
  std::int64_t stride = 1;    ///< distance from one window to the next, in elements
  std::int64_t padding = 0;   ///< the number of zeros added at each end
  std::int64_t dilation = 1;  ///< distance between neighboring elements of a window
  std::int64_t groups = 1;    ///< number of groups into which the channels are divided
  /// If true, dilation · (k - 1) zeros are added only at the front, so that no output depends on later input. `padding`
  /// must then be 0.
  bool causal = false;
};
/// A one-dimensional convolution like PyTorch's conv1d. x (b, channels, n), weight (out, channels/groups, k),
/// bias (out) or undefined; y (b, out, m):
/// y[b, o, i] = bias[o] + Σ_c Σ_t weight[o, c, t] · x[b, g + c, i · stride + t · dilation - padding].
/// Here g is the first channel of o's group. Elements of x outside the sequence count as 0. The length m is
/// (n + 2 padding - dilation (k - 1) - 1) / stride + 1, rounded down. If `causal` is true, dilation (k - 1) takes the
/// place of the padding in the formula for y, and m is (n - 1) / stride + 1, rounded down.
///
/// If groups = channels = out (a depth-wise convolution), conv1d computes a sum of k elementwise products. Otherwise it
/// computes one matrix product for each group of each sample. These products need a copy of all windows, which has
/// b · channels · k · m elements. For bf16, conv1d computes in f32 and rounds once. Error for incompatible shapes and
/// for options out of range.
Tensor conv1d(const Tensor& x, const Tensor& weight, const Tensor& bias = {}, const Conv1dOptions& options = {});

}  // namespace weft
WEFT_PUBLIC_END
