/// \file
/// Views, copies and other rearrangements of a tensor's elements (see weft/ops.h for the rules of all operations).
#pragma once
#include <cstdint>
#include <utility>
#include <vector>

#include "weft/tensor.h"
#include "weft/visibility.h"

WEFT_PUBLIC_BEGIN
namespace weft {

/// The elements of x in row-major order, with another shape. One of the sizes may be -1. It is then computed from the
/// other sizes. The result is a view if x's strides allow that, otherwise a copy.
Tensor reshape(const Tensor& x, const Shape& shape);
/// A view in which axis i is axis dims[i] of x.
Tensor permute(const Tensor& x, const std::vector<std::int64_t>& dims);
/// A view with two axes exchanged.
Tensor transpose(const Tensor& x, std::int64_t dim0, std::int64_t dim1);
/// A view of x[start:stop:step] along dim. Error unless 0 <= start <= stop <= x.size(dim) and step >= 1.
Tensor slice(const Tensor& x, std::int64_t dim, std::int64_t start, std::int64_t stop, std::int64_t step = 1);
/// Divides x along dim into `chunks` equal pieces, which are views. Error if x.size(dim) is not divisible by `chunks`.
std::vector<Tensor> chunk(const Tensor& x, std::int64_t chunks, std::int64_t dim);
/// Concatenates the parts along dim. They have the same dtype, and their shapes may differ only along dim.
Tensor concat(const std::vector<Tensor>& parts, std::int64_t dim);
/// A view of x that is broadcast to `shape`, like numpy.broadcast_to.
Tensor expand(const Tensor& x, const Shape& shape);
/// A view in reverse order along dim: y_i = x_(n-1-i).
Tensor flip(const Tensor& x, std::int64_t dim);
/// x without axis dim, whose size must be 1.
Tensor squeeze(const Tensor& x, std::int64_t dim);
/// x with a new axis of size 1, which becomes axis dim of the result. dim may be -rank-1 … rank, where `rank` is that
/// of x.
Tensor unsqueeze(const Tensor& x, std::int64_t dim);
/// Joins tensors of the same shape and dtype along a new axis, which becomes axis dim of the result.
Tensor stack(const std::vector<Tensor>& parts, std::int64_t dim = 0);
/// Divides x along dim into pieces of the given sizes, which are views. Error unless the sizes add up to x.size(dim).
/// For equal pieces, see chunk().
std::vector<Tensor> split(const Tensor& x, const std::vector<std::int64_t>& sizes, std::int64_t dim);
/// Moves the elements along dim by `shift` positions, towards the end if `shift` is positive. Elements that leave at
/// one end enter at the other: y_i = x_((i - shift) mod n).
Tensor roll(const Tensor& x, std::int64_t shift, std::int64_t dim);
/// Pads x with `value`: adds widths[i].first elements at the beginning of axis i, and widths[i].second elements at its
/// end. Error unless there is one pair for each axis and no width is negative.
Tensor pad(const Tensor& x, const std::vector<std::pair<std::int64_t, std::int64_t>>& widths, double value = 0);
/// The lower triangle of each matrix of x (…, rows, columns). Elements x_ij with j > i + diagonal become 0.
Tensor tril(const Tensor& x, std::int64_t diagonal = 0);
/// The upper triangle of each matrix of x (…, rows, columns). Elements x_ij with j < i + diagonal become 0.
Tensor triu(const Tensor& x, std::int64_t diagonal = 0);
/// The numbers start, start + step, …, up to but not including stop, as in numpy.arange. The result has shape (n),
/// where n is (stop - start) / step, rounded up. Error for a step of 0, and for dtypes other than i64, f32 and f64. For
/// i64, start and step must be whole numbers, and the magnitude of start, stop and step may be at most 2^53.
Tensor arange(double start, double stop, double step = 1, DType dtype = DType::i64);
/// One-hot vectors: indices (…) of dtype i64 -> (…, classes). Each vector is 1 at its index and 0 elsewhere. dtype is
/// bf16, f32 or f64. Error for an index outside 0 … classes-1.
Tensor one_hot(const Tensor& indices, std::int64_t classes, DType dtype = DType::f32);

/// Selects the given indices along dim of x. indices (k) has dtype i64. The result has x's shape, but with size k along
/// dim. x may have any dtype, but integers have no gradient. Error for an index outside 0 … x.size(dim)-1.
Tensor index_select(const Tensor& x, std::int64_t dim, const Tensor& indices);
/// Selects elements of x, which may have any dtype. The result has the shape of index. Along dim, the elements of index
/// are the positions in x. Along the other axes, each position in x is the same as in the result. For a matrix and dim
/// 1, y_ij = x_(i, index_ij). index has dtype i64 and x's rank. Along every axis except dim, index must not be longer
/// than x. Error for an index outside 0 … x.size(dim)-1.
Tensor gather(const Tensor& x, std::int64_t dim, const Tensor& index);
/// A copy of a real x to which the elements of source are added, at the positions that gather would read with the same
/// index. For a matrix and dim 1, source_ij is added to the element at (i, index_ij). index and source have the same
/// shape, which follows the rules of gather. The elements of source are added in a fixed order, so the bits of the
/// result are always the same.
Tensor scatter_add(const Tensor& x, std::int64_t dim, const Tensor& index, const Tensor& source);

/// Converts x to dtype bf16, f32 or f64, with one rounding. The gradient is rounded to x's dtype. x may also be an
/// integer tensor, such as the mask of a comparison. Integer tensors can also be converted to i64.
Tensor cast(const Tensor& x, DType dtype);

}  // namespace weft
WEFT_PUBLIC_END
