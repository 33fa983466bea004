/// \file
/// Precision: the number format in which a model computes. In either precision, parameters, their gradients, the
/// optimizer's state and checkpoints are f32, unless the model is quantized (weft/quantize.h). So a model that was
/// trained in one precision can be loaded, run or trained in the other.
///
/// bf16 has the 8 exponent bits of f32, but a precision of only 8 bits. Gradients that f32 can represent don't vanish
/// in bf16, so, unlike in f16, the loss needs no scaling. If the loss is multiplied by 2^k, the gradients are
/// multiplied by 2^k exactly, as long as no gradient is denormal.
#pragma once
#include <string>
#include <vector>

#include "weft/tensor.h"
#include "weft/visibility.h"

WEFT_PUBLIC_BEGIN
namespace weft {

/// The number format in which a model computes.
enum class Precision {
  f32,  ///< all values have the dtype of the parameters
  /// Mixed precision. Activations and their gradients are bf16. Matrix products round the weights to bf16 and sum in
  /// f32. The following stay f32: parameters and their gradients, the optimizer's state, statistics of norms, the loss,
  /// Fourier and Toeplitz products, and TNN's coefficients.
  bf16,
};

const char* precision_name(Precision precision) noexcept;  ///< "f32" or "bf16"
Precision precision_from_name(const std::string& name);    ///< throws an Error for an unknown name
std::vector<std::string> precisions();                     ///< the names of all values

/// Converts x, which was computed from parameters, to the activations that layers receive in this precision: x itself
/// for f32, x rounded to bf16 for bf16. The gradient has the dtype of x.
Tensor in_precision(const Tensor& x, Precision precision);

}  // namespace weft
WEFT_PUBLIC_END
