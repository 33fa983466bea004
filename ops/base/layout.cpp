#include "base/layout.h"

namespace weft::detail {
namespace {

// Computes the strides of a view of x with the given shape and the same elements in row-major order. Returns false and
// empty strides if there is no such view.
bool view_strides(const Tensor& x, const Shape& shape, Strides& strides) {
  strides = contiguous_strides(shape);
  if (x.is_contiguous() || x.numel() == 0) return true;
  // Matches runs of x's axes that are evenly spaced in memory with runs of new axes of the same total size.
  std::size_t axis = shape.size(), from = x.shape().size();
  while (from > 0) {
    std::size_t first = from - 1;
    std::int64_t count = x.shape()[first];
    while (first > 0 && (x.shape()[first - 1] == 1 || x.strides()[first - 1] == x.strides()[first] * x.shape()[first] ||
                         x.shape()[first] == 1)) {
      if (x.shape()[first] == 1 && x.shape()[first - 1] != 1 && count != 1) break;
      count *= x.shape()[--first];
    }
    std::int64_t step = 1;
    for (std::size_t i = first; i < from; ++i)
      if (x.shape()[i] != 1) step = x.strides()[i];
    std::int64_t covered = 1;
    while (axis > 0 && (covered < count || shape[axis - 1] == 1)) {
      --axis;
      strides[axis] = step * covered;
      covered *= shape[axis];
    }
    if (covered != count) return false;
    from = first;
  }
  return true;
}

}  // namespace

Tensor reshaped(const Tensor& x, const Shape& shape) {
  Strides strides;
  if (view_strides(x, shape, strides)) return x.view(shape, strides, x.offset());
  const Tensor dense = raw::contiguous(x);
  return dense.view(shape, contiguous_strides(shape), dense.offset());
}

Tensor as_matrix(const Tensor& x, std::int64_t axes) {
  const auto last = x.shape().end() - axes;
  return reshaped(x, {numel(Shape(x.shape().begin(), last)), numel(Shape(last, x.shape().end()))});
}

Tensor as_rows(const Tensor& x, std::int64_t axes) { return with_contiguous_rows(as_matrix(x, axes)); }

Tensor with_contiguous_rows(const Tensor& x) { return has_contiguous_rows(x) ? x : raw::contiguous(x); }

bool has_contiguous_rows(const Tensor& x) { return x.is_contiguous() || (x.size(-1) > 1 && x.strides().back() == 1); }

}  // namespace weft::detail
