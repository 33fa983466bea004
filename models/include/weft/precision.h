/// \file
/// Precision: the number format that a model computes in. Parameters, their gradients, the optimizer's state and
/// checkpoints are always f32. A model that was trained in one precision can therefore be loaded, run and trained
/// further in the other.
///
/// bf16 has f32's exponent of 8 bits, and 8 bits of precision. Gradients that f32 can hold don't vanish in bf16, so the
/// loss needs no scaling, unlike in f16. A loss times 2^k gives gradients times 2^k, bit by bit, as long as none is
/// denormal.
#pragma once
#include <string>
#include <vector>

#include "weft/tensor.h"

#pragma GCC visibility push(default)
namespace weft {

/// The number format that a model computes in.
enum class Precision {
  f32,  ///< everything has the dtype of the parameters
  /// Mixed precision. Activations and their gradients are bf16. Products round the weights to bf16 and add in f32.
  /// These stay f32: parameters and their gradients, the optimizer, statistics of norms, the loss, Fourier and Toeplitz
  /// products, and TNN's coefficients.
  bf16,
};

const char* precision_name(Precision precision) noexcept;  ///< "f32" or "bf16"
Precision precision_from_name(const std::string& name);    ///< throws an Error if there is none
std::vector<std::string> precisions();                     ///< their names

/// The activations for a layer, given x from its parameters: x itself in f32, x rounded in bf16. The gradient has x's
/// dtype.
Tensor in_precision(const Tensor& x, Precision precision);

}  // namespace weft
#pragma GCC visibility pop
