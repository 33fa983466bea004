// Sums along axes, without recording.
#pragma once
#include <vector>

#include "weft/tensor.h"

namespace weft::detail {

// Returns the sum of x, real or complex, over the axes marked in `reduced`. `shape` is x's shape without these axes, or
// with size 1 in their place. The order of the additions depends only on the shapes. For bf16 input the result is f32.
Tensor sum_axes(const char* op, const Tensor& x, const std::vector<bool>& reduced, const Shape& shape);

}  // namespace weft::detail
