/// \file
/// Views, copies and other rearrangements of a tensor's elements (see weft/ops.h for the rules of all operations).
#pragma once
#include <cstdint>
#include <vector>

#include "weft/tensor.h"

#pragma GCC visibility push(default)
namespace weft {

/// x's elements in row-major order with other axes. One of the sizes may be -1. The result is a view where x's strides
/// allow, else a copy.
Tensor reshape(const Tensor& x, const Shape& shape);
/// Axis i of y is axis dims[i] of x; a view.
Tensor permute(const Tensor& x, const std::vector<std::int64_t>& dims);
/// Two axes exchanged; a view.
Tensor transpose(const Tensor& x, std::int64_t dim0, std::int64_t dim1);
/// x[start:stop:step] along dim, 0 <= start <= stop <= size, step >= 1; a view.
Tensor slice(const Tensor& x, std::int64_t dim, std::int64_t start, std::int64_t stop, std::int64_t step = 1);
/// Equal pieces along dim, as views. Error if the size is not divisible.
std::vector<Tensor> chunk(const Tensor& x, std::int64_t chunks, std::int64_t dim);
/// The parts one after the other along dim. They have one dtype, and their shapes differ only along dim.
Tensor concat(const std::vector<Tensor>& parts, std::int64_t dim);
/// numpy.broadcast_to; a view.
Tensor expand(const Tensor& x, const Shape& shape);
/// y_i = x_(n-1-i) along dim; a view.
Tensor flip(const Tensor& x, std::int64_t dim);
/// x rounded to another dtype: bf16, f32 or f64. The gradient is rounded to x's dtype.
Tensor cast(const Tensor& x, DType dtype);

}  // namespace weft
#pragma GCC visibility pop
