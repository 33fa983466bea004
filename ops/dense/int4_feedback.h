// Rounding of weights to 4 bits with error feedback, for known inputs.
#pragma once
#include "dense/int4_tensors.h"

namespace weft::detail {

// Rounds a dense f32 weight W (out, in), so that Σ ‖(W - Q) x‖² over the inputs x is small. `moments` is Σ x xᵀ (in, in),
// dense f32. QuantizedWeight::fitted describes the rule.
Int4Weight rounded_with_feedback(const Tensor& weight, const Tensor& moments);

}  // namespace weft::detail
