// Reinterprets a tensor's elements in other shapes: as a view where its strides allow, else as a copy. Nothing here is
// recorded.
#pragma once
#include <cstdint>

#include "weft/tensor.h"

namespace weft::detail {

// x's elements in row-major order as `shape`, which has the same number of elements.
Tensor reshaped(const Tensor& x, const Shape& shape);

// x (…, k) as a matrix (m, k), where k is the product of the last `axes` sizes.
Tensor as_matrix(const Tensor& x, std::int64_t axes = 1);
Tensor as_rows(const Tensor& x, std::int64_t axes = 1);  // the same with contiguous rows
Tensor with_contiguous_rows(const Tensor& x);            // x, with the elements of its last axis adjacent
bool has_contiguous_rows(const Tensor& x);

}  // namespace weft::detail
