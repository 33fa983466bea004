// Complex cases of public functions that also take real tensors.
#pragma once
#include "weft/tensor.h"

namespace weft::detail {

Tensor complex_abs(const Tensor& x);  // recorded

}  // namespace weft::detail
