/// \file
/// Views, copies and other rearrangements of a tensor's elements (see weft/ops.h for the rules of all operations).
#pragma once
#include <cstdint>
#include <utility>
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
/// x without axis dim, whose size must be 1.
Tensor squeeze(const Tensor& x, std::int64_t dim);
/// x with a new axis of size 1, which is axis dim of the result: dim is -rank-1 … rank.
Tensor unsqueeze(const Tensor& x, std::int64_t dim);
/// Tensors of one shape, one behind the other along a new axis dim of the result.
Tensor stack(const std::vector<Tensor>& parts, std::int64_t dim = 0);
/// Divides x along dim into pieces of these sizes, which are views. Error unless they add up to x's size. chunk() makes
/// equal pieces.
std::vector<Tensor> split(const Tensor& x, const std::vector<std::int64_t>& sizes, std::int64_t dim);
/// Moves the elements along dim by `shift` places, towards the end if it is positive; those that leave at one end return
/// at the other: y_i = x_(i - shift modulo n).
Tensor roll(const Tensor& x, std::int64_t shift, std::int64_t dim);
/// x with widths[i].first elements of this value before axis i, and widths[i].second behind it. Error unless there is a
/// pair for each axis, without negative numbers.
Tensor pad(const Tensor& x, const std::vector<std::pair<std::int64_t, std::int64_t>>& widths, double value = 0);
/// The lower triangle of the matrices x (…, rows, columns): 0 in place of x_ij with j > i + diagonal.
Tensor tril(const Tensor& x, std::int64_t diagonal = 0);
/// The upper triangle of the matrices x (…, rows, columns): 0 in place of x_ij with j < i + diagonal.
Tensor triu(const Tensor& x, std::int64_t diagonal = 0);
/// start, start + step, …: n = (stop - start) / step numbers, rounded up, as in numpy: (n). Error for a step of 0, or for
/// dtypes that are not i64, f32 or f64. The numbers must be whole and at most 2^53 for i64.
Tensor arange(double start, double stop, double step = 1, DType dtype = DType::i64);
/// 1 at the index of each row, otherwise 0: indices (…) i64 -> (…, classes). Error for an index outside 0 … classes-1.
Tensor one_hot(const Tensor& indices, std::int64_t classes, DType dtype = DType::f32);

/// The elements of a real x or one of bf16 at these indices along dim: indices (k) i64, y has k in place of dim's size.
/// Error for an index outside 0 … size-1, here and in gather and scatter_add.
Tensor index_select(const Tensor& x, std::int64_t dim, const Tensor& indices);
/// For each index the element of a real x or one of bf16 at the same place, except along dim: for dim 1 of two axes
/// y_ij = x_(i, index_ij). index i64 has x's rank, and no axis but dim is longer than x's.
Tensor gather(const Tensor& x, std::int64_t dim, const Tensor& index);
/// x with source_ij added at (i, index_ij), for dim 1 of two axes. index and source have one shape, which follows the
/// rules of gather. The sums are in the order of the indices, so that the bits are always the same.
Tensor scatter_add(const Tensor& x, std::int64_t dim, const Tensor& index, const Tensor& source);

/// x rounded to another dtype: bf16, f32 or f64. The gradient is rounded to x's dtype. Integers, such as the masks of
/// comparisons, can be cast to these and to i64.
Tensor cast(const Tensor& x, DType dtype);

}  // namespace weft
#pragma GCC visibility pop
