/// \file
/// Dense products (see weft/ops.h for the rules of all operations).
#pragma once
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "weft/activation.h"
#include "weft/cpu.h"
#include "weft/tensor.h"

#pragma GCC visibility push(default)
namespace weft {

/// numpy.matmul, real or complex: a (…, m, k) or (k), b (…, k, n) or (k). All products here accumulate bf16 input in
/// f32 and round each element of the result once, to bf16.
Tensor matmul(const Tensor& a, const Tensor& b);

/// The operations that `linear` fuses with x Wᵀ + b while the tile is in cache: y = residual + gate ⊙ act(x Wᵀ + b).
struct Epilogue {
  Epilogue() = default;
  /// A single activation converts to an Epilogue: linear(x, weight, bias, Activation::gelu).
  Epilogue(Activation function, Tensor gate_of_y = {}, Tensor residual_of_y = {})
      : activation(function), gate(std::move(gate_of_y)), residual(std::move(residual_of_y)) {}
  /// residual + x Wᵀ + b. An undefined residual adds nothing.
  static Epilogue adding(Tensor residual) { return {Activation::none, {}, std::move(residual)}; }

  Activation activation = Activation::none;  ///< applied to x Wᵀ + b
  Tensor gate;                               ///< has y's shape, or is undefined
  Tensor residual;                           ///< has y's shape, or is undefined
};
/// x (…, in), weight (out, in), bias (out) or undefined: y (…, out). All tensors have the same dtype, with one
/// exception for mixed precision. With a bf16 x, the gate, residual and y are bf16, and weight and bias may each be
/// bf16 or f32 (f32 master weights). An f32 weight is rounded to bf16 for the product. The gradients of an f32 weight
/// and bias are f32 and are never rounded to bf16.
Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias = {}, const Epilogue& epilogue = {});

/// The scalar product of each row of a matrix (n, k) with a vector (k) of its dtype: (n), in f32 for bf16 rows. Reads the
/// rows once, as fast as the memory gives them. Has no gradient.
Tensor row_products(const Tensor& rows, const Tensor& x);

/// The weight (out, in) of linear, f32, f64 or bf16, with a copy in the order in which products read it. Inference that
/// keeps this object does not rearrange the weight at each call, and reads the weight itself only for matrices of a few
/// rows. The weight is a constant here: it gets no gradient. The copy serves x of its dtype on the instruction set of
/// the context that created it. Otherwise the weight itself is used. Thread-safe.
class PackedWeight {
 public:
  /// Packs the weight now, for x of its dtype.
  explicit PackedWeight(const Tensor& weight);
  /// Packs the weight now, for x of `dtype`. This is the weight's own dtype, bf16 for an f32 weight (the copy is then
  /// rounded), or f32 for a bf16 weight.
  PackedWeight(const Tensor& weight, DType dtype);
  /// The weight as given.
  const Tensor& weight() const noexcept { return weight_; }
  /// The dtype of x that the copy serves.
  DType dtype() const noexcept { return panels_.dtype(); }
  /// The instruction set that the copy serves.
  Isa isa() const noexcept { return isa_; }
  /// False if the weight was written since it was packed.
  bool is_current() const { return weight_.version() == version_; }

 private:
  friend Tensor packed_linear(const Tensor& x, const PackedWeight& weight, const Tensor& bias,
                              const Epilogue& epilogue);

  Tensor weight_, panels_;  // the panels in one flat tensor
  std::uint64_t version_;
  Isa isa_;
};

/// The same values as linear. Error if the weight was written after it was packed.
Tensor packed_linear(const Tensor& x, const PackedWeight& weight, const Tensor& bias = {},
                     const Epilogue& epilogue = {});

/// gMLP's spatial gating (arXiv 2105.08050, section 2.2). gate, x (n, b, d), weight (n, n), bias (n):
/// y_i = gate_i ⊙ (Σ_j weight_ij x_j + bias_i), (n, b, d).
/// Causal: the sum covers only j <= i, whatever the rest of the weight contains. Half of the products are then skipped,
/// except some next to the diagonal, where the weight counts as 0. So an x_j that is not finite may reach y_i for some
/// i < j. With a bf16 gate and x, weight and bias may each be bf16 or f32, like those of linear.
Tensor spatial_gate(const Tensor& gate, const Tensor& x, const Tensor& weight, const Tensor& bias, bool causal = false);

/// The causal spatial_gate of only the last token, for texts that grow token by token. The arguments are, for each
/// text, its x (n, d) with all of its tokens (n is the same for all texts); gate (1, texts, d) of the last tokens;
/// weight (≥ n, ≥ n) and bias (≥ n):
/// y = gate ⊙ (Σ_j weight_ij x_j + bias_i), i = n - 1, (1, texts, d).
/// Sums are in the order of j: the bits of a text don't depend on the other texts. Dtypes are those of spatial_gate.
/// Intermediate values are not rounded. For inference: nothing is recorded.
Tensor spatial_gate_last(const Tensor& gate, const std::vector<Tensor>& x, const Tensor& weight, const Tensor& bias);

/// numpy's einsum with its whole syntax. An axis of size 1 broadcasts against n. The operands are real, bf16 or
/// complex, and have the same dtype. With more than two operands, each product of two is rounded to that dtype.
Tensor einsum(const std::string& equation, const std::vector<Tensor>& operands);

/// How a convolution moves over the sequence.
struct Conv1dOptions {
  std::int64_t stride = 1;    ///< from one window to the next
  std::int64_t padding = 0;   ///< zeros at both ends
  std::int64_t dilation = 1;  ///< from one element of a window to the next
  std::int64_t groups = 1;    ///< into which the channels are divided; as many as channels: depth-wise
  /// dilation · (k - 1) zeros in front in place of padding, so that no output depends on later input.
  bool causal = false;
};
/// The convolution of PyTorch: y[b, o, i] = bias[o] + Σ_c Σ_t weight[o, c, t] x[b, first channel of o's group + c,
/// i stride + t dilation - padding]. x (b, channels, n), weight (out, channels/groups, k), bias (out) or undefined; y
/// (b, out, m), m = (n + 2 padding - dilation (k - 1) - 1) / stride + 1, rounded down. A depth-wise convolution adds up k
/// products; others are one matrix product for each group over a copy of the windows, k times as large as x. For bf16 it
/// computes in f32, and rounds once. Error for shapes that don't fit, and for options out of their ranges.
Tensor conv1d(const Tensor& x, const Tensor& weight, const Tensor& bias = {}, const Conv1dOptions& options = {});

}  // namespace weft
#pragma GCC visibility pop
