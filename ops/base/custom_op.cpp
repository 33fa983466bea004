#include "weft/custom_op.h"

#include <algorithm>

#include "weft/detail/tensor_text.h"

namespace weft {

std::string describe(const Tensor& x) { return detail::tensor_text(x); }

void fail(const char* op, const std::string& what) { throw Error("[" + std::string(op) + "] " + what); }

void check_real(const char* op, const Tensor& x) {
  if (x.defined() && is_real(x.dtype())) return;
  const bool is_bf16 = x.defined() && x.dtype() == DType::bf16;
  fail(op, "expected an f32 or f64 tensor, got " + describe(x) + (is_bf16 ? "; cast(x, DType::f32) converts x" : ""));
}

void check_floating(const char* op, const Tensor& x) {
  if (!x.defined() || !is_floating(x.dtype())) fail(op, "expected a bf16, f32 or f64 tensor, got " + describe(x));
}

void check_same_dtype(const char* op, const Tensor& a, const Tensor& b) {
  if (!a.defined() || !b.defined() || a.dtype() != b.dtype())
    fail(op, "expected operands of the same dtype, got " + describe(a) + " and " + describe(b));
}

std::size_t checked_dim(const char* op, std::int64_t dim, std::int64_t rank) {
  if (dim < -rank || dim >= rank)
    fail(op, "dimension " + std::to_string(dim) + " is out of range for a tensor of rank " + std::to_string(rank));
  return static_cast<std::size_t>(dim < 0 ? dim + rank : dim);
}

Shape broadcast_shapes(const char* op, const Shape& a, const Shape& b) {
  Shape shape(std::max(a.size(), b.size()));
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const std::int64_t m = i < a.size() ? a[a.size() - 1 - i] : 1, n = i < b.size() ? b[b.size() - 1 - i] : 1;
    if (m != n && m != 1 && n != 1) fail(op, "shapes " + to_string(a) + " and " + to_string(b) + " don't broadcast");
    shape[shape.size() - 1 - i] = m == 1 ? n : m;
  }
  (void)numel(shape);
  return shape;
}

Strides broadcast_strides(const Tensor& x, const Shape& shape) {
  Strides strides(shape.size(), 0);
  const std::size_t lead = shape.size() - x.shape().size();
  for (std::size_t i = 0; i < x.shape().size(); ++i)
    if (x.shape()[i] == shape[lead + i] && shape[lead + i] != 1) strides[lead + i] = x.strides()[i];
  return strides;
}

}  // namespace weft
