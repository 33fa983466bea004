// Checks of the weights and biases of dense layers, which may be f32 if x is bf16.
#pragma once
#include <string>

#include "base/common.h"

namespace weft::detail {

// Throws an Error unless the parameter has x's dtype, or is f32 while x is bf16.
inline void check_parameter(const char* op, const Tensor& x, const Tensor& parameter, const char* what) {
  if (x.dtype() != DType::bf16 || !parameter.defined()) return check_same_dtype(op, x, parameter);
  if (parameter.dtype() != DType::bf16 && parameter.dtype() != DType::f32)
    fail(op, std::string("expected ") + what + " of dtype bf16 or f32 for a bf16 x, got " + describe(parameter));
}

}  // namespace weft::detail
