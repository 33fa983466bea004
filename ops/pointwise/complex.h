// Functions of complex tensors whose public functions also take real ones.
#pragma once
#include "weft/tensor.h"

namespace weft::detail {

Tensor complex_abs(const Tensor& x);  // recorded

}  // namespace weft::detail
