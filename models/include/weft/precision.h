/// \file
/// Precision: what a model computes in. Parameters, their gradients and the optimizer's state are f32 in either, and so is
/// a checkpoint: a model that was trained in one is loaded, asked and trained further in the other.
///
/// bf16 has f32's exponent of 8 bits, and 8 bits of precision: gradients that f32 holds don't vanish in it, and the loss
/// needs no scaling, as it does in f16. A loss times 2^k gives gradients times 2^k, bit by bit, as long as none is
/// denormal.
#pragma once
#include <string>
#include <vector>

#include "weft/tensor.h"

#pragma GCC visibility push(default)
namespace weft {

/// What a model computes in.
enum class Precision {
  f32,   ///< in the dtype of the parameters
  bf16,  ///< mixed: activations and their gradients are bf16, products round the weights to it and add in f32; f32 are
  ///< parameters and their gradients, the optimizer, statistics of norms, the loss, Fourier and Toeplitz products and
  ///< TNN's coefficients
};

const char* precision_name(Precision precision) noexcept;  ///< "f32" or "bf16"
Precision precision_from_name(const std::string& name);    ///< Error if it is none of those
std::vector<std::string> precisions();                     ///< their names

/// Activations of a layer whose parameters gave x: x itself in f32, x rounded in bf16. Its gradient is of x's dtype.
Tensor in_precision(const Tensor& x, Precision precision);

}  // namespace weft
#pragma GCC visibility pop
