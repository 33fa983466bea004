/// \file
/// Views, copies and other rearrangements of a tensor's elements (see weft/ops.h for the rules of all operations).
#pragma once
#include <cstdint>
#include <vector>

#include "weft/tensor.h"

#pragma GCC visibility push(default)
namespace weft {

/// x's elements in row-major order, with another shape. One of the sizes may be -1 and then follows from the others.
/// The result is a view if x's strides allow that, otherwise a copy.
Tensor reshape(const Tensor& x, const Shape& shape);
/// A view in which axis i is axis dims[i] of x.
Tensor permute(const Tensor& x, const std::vector<std::int64_t>& dims);
/// A view with two axes exchanged.
Tensor transpose(const Tensor& x, std::int64_t dim0, std::int64_t dim1);
/// A view of x[start:stop:step] along dim. 0 <= start <= stop <= size, and step >= 1.
Tensor slice(const Tensor& x, std::int64_t dim, std::int64_t start, std::int64_t stop, std::int64_t step = 1);
/// Divides x along dim into equal pieces, which are views. Error if the size is not divisible by `chunks`.
std::vector<Tensor> chunk(const Tensor& x, std::int64_t chunks, std::int64_t dim);
/// Concatenates the parts along dim. They have the same dtype, and their shapes differ only along dim.
Tensor concat(const std::vector<Tensor>& parts, std::int64_t dim);
/// A view of x that is broadcast to `shape`, like numpy.broadcast_to.
Tensor expand(const Tensor& x, const Shape& shape);
/// A view in reverse order along dim: y_i = x_(n-1-i).
Tensor flip(const Tensor& x, std::int64_t dim);
/// x rounded to another dtype: bf16, f32 or f64. The gradient is rounded to x's dtype.
Tensor cast(const Tensor& x, DType dtype);

}  // namespace weft
#pragma GCC visibility pop
