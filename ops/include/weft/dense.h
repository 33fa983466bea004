/// \file
/// Dense products (weft/ops.h says what holds for all operations).
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

/// numpy.matmul, real or complex: a (…, m, k) or (k), b (…, k, n) or (k). Of bf16, as all products here: sums are in f32,
/// and each element of the result is rounded once, to bf16.
Tensor matmul(const Tensor& a, const Tensor& b);

/// What `linear` does with x Wᵀ + b while the tile is in cache: y = residual + gate ⊙ act(x Wᵀ + b).
struct Epilogue {
  Epilogue() = default;
  /// An activation alone is an Epilogue, too: linear(x, weight, bias, Activation::gelu).
  Epilogue(Activation function, Tensor gate_of_y = {}, Tensor residual_of_y = {})
      : activation(function), gate(std::move(gate_of_y)), residual(std::move(residual_of_y)) {}
  /// residual + x Wᵀ + b; an undefined one adds nothing.
  static Epilogue adding(Tensor residual) { return {Activation::none, {}, std::move(residual)}; }

  Activation activation = Activation::none;  ///< of x Wᵀ + b
  Tensor gate;                               ///< y's shape, or undefined
  Tensor residual;                           ///< y's shape, or undefined
};
/// x (…, in), weight (out, in), bias (out) or undefined: y (…, out). All of one dtype; but beside a bf16 x, whose gate,
/// residual and y are bf16, too, weight and bias may each be bf16 or f32: an f32 weight is rounded to bf16 for the
/// product, and its gradient, like that of an f32 bias, is f32, not rounded to bf16: as mixed precision has it, whose
/// master weights are f32.
Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias = {}, const Epilogue& epilogue = {});

/// linear's weight (out, in), f32, f64 or bf16, with a copy in the order in which products read it: inference that keeps it
/// doesn't rearrange the weight at each call, and doesn't read the weight itself but for matrices of a few rows. The weight
/// is a constant here: it gets no gradient. The copy serves the instruction set of the context in which it was made, and x
/// of its dtype; otherwise the weight itself is used. Threads may share it.
class PackedWeight {
 public:
  /// Packs it now, for x of its dtype.
  explicit PackedWeight(const Tensor& weight);
  /// Packs it now, for x of `dtype`: the weight's own; bf16 of an f32 weight, whose copy is then rounded; or f32 of a bf16
  /// weight.
  PackedWeight(const Tensor& weight, DType dtype);
  /// As given.
  const Tensor& weight() const noexcept { return weight_; }
  /// Of the x that the copy serves.
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

/// linear's values. Error if the weight was written after it was packed.
Tensor packed_linear(const Tensor& x, const PackedWeight& weight, const Tensor& bias = {},
                     const Epilogue& epilogue = {});

/// gMLP's spatial gating (arXiv 2105.08050, section 2.2). gate, x (n, b, d), weight (n, n), bias (n):
/// y_i = gate_i ⊙ (Σ_j weight_ij x_j + bias_i), (n, b, d); causal: the sum over j <= i, whatever the rest of the weight
/// holds. Then half of the products are left out, but for some beside the diagonal: their weight counts as 0, so that
/// x_j, if it is not finite, may reach y_i of some i < j. Of a bf16 gate and x weight and bias may each be bf16 or f32, as
/// linear's.
Tensor spatial_gate(const Tensor& gate, const Tensor& x, const Tensor& weight, const Tensor& bias, bool causal = false);

/// spatial_gate, causal, of the last token alone, for texts that grow token by token: of each text its x (n, d) for all of its
/// tokens, n the same for all, and of their last tokens gate (1, texts, d); weight (≥ n, ≥ n), bias (≥ n):
/// y = gate ⊙ (Σ_j weight_ij x_j + bias_i), i = n - 1, (1, texts, d). Sums are in the order of j: a text gives the same bits
/// beside any others. Dtypes are spatial_gate's, and what is between is not rounded. For inference: nothing is recorded.
Tensor spatial_gate_last(const Tensor& gate, const std::vector<Tensor>& x, const Tensor& weight, const Tensor& bias);

/// numpy's einsum, its whole syntax; a size of 1 broadcasts against n. Real, bf16 or complex, all of one dtype. Of several
/// operands each product of two is rounded to it.
Tensor einsum(const std::string& equation, const std::vector<Tensor>& operands);

}  // namespace weft
#pragma GCC visibility pop
