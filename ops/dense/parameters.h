// Weights and biases of dense layers, which may be f32 with a bf16 x.
#pragma once
#include <string>

#include "base/common.h"

namespace weft::detail {

// Error unless the parameter has x's dtype, or is f32 with a bf16 x.
inline void check_parameter(const char* op, const Tensor& x, const Tensor& parameter, const char* what) {
  if (x.dtype() != DType::bf16 || !parameter.defined()) return check_same_dtype(op, x, parameter);
  if (parameter.dtype() != DType::bf16 && parameter.dtype() != DType::f32)
    fail(op, std::string("expected ") + what + " of dtype bf16 or f32 for a bf16 x, got " + describe(parameter));
}

}  // namespace weft::detail
