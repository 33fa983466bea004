// Other ways to see a tensor's elements: views where its strides allow, else copies. Nothing here is recorded.
#pragma once
#include <cstdint>

#include "weft/tensor.h"

namespace weft::detail {

// x's elements in row-major order as `shape`, which has as many.
Tensor reshaped(const Tensor& x, const Shape& shape);

// x (…, k) as a matrix (m, k), k the product of the last `axes`.
Tensor as_matrix(const Tensor& x, std::int64_t axes = 1);
Tensor as_rows(const Tensor& x, std::int64_t axes = 1);  // the same with contiguous rows
Tensor with_contiguous_rows(const Tensor& x);            // x, the elements of its last axis side by side
bool has_contiguous_rows(const Tensor& x);

}  // namespace weft::detail
