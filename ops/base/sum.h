// Sums along axes, without a record.
#pragma once
#include <vector>

#include "weft/tensor.h"

namespace weft::detail {

// The sum of x, real or complex, over the axes that are `reduced`, in `shape`: x's without them, or with size 1 in their
// place. The order of the additions depends on the shapes alone. Of bf16 it is f32.
Tensor sum_axes(const char* op, const Tensor& x, const std::vector<bool>& reduced, const Shape& shape);

}  // namespace weft::detail
