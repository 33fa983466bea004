// Reinterprets a tensor's elements in other shapes: as a view if its strides allow it, otherwise as a copy. Nothing in
// this file is recorded.
#pragma once
#include <cstdint>

#include "weft/tensor.h"

namespace weft::detail {

// Returns x's elements, in row-major order, as a tensor of the given shape, which must have as many elements as x.
Tensor reshaped(const Tensor& x, const Shape& shape);

// Returns x (…, k) as a matrix (m, k), where k is the product of the last `axes` sizes.
Tensor as_matrix(const Tensor& x, std::int64_t axes = 1);
Tensor as_rows(const Tensor& x, std::int64_t axes = 1);  // the same matrix with contiguous rows
Tensor with_contiguous_rows(const Tensor& x);            // x itself or a copy whose last axis has stride 1
bool has_contiguous_rows(const Tensor& x);

}  // namespace weft::detail
