/// \file
/// Helpers for custom operations, in addition to weft/op.h: argument checks, dispatch over dtypes, and broadcasting.
/// Loops over tensors with any strides (fill, copy, convert and accumulate) are in namespace weft::raw (weft/tensor.h).
/// Parallel loops are in weft/context.h. For an example, see models/examples/custom_op.cpp.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>

#include "weft/op.h"
#include "weft/tensor.h"
#include "weft/visibility.h"

WEFT_PUBLIC_BEGIN
namespace weft {

/// A description of x for messages, such as "an f32 tensor of shape (2, 3)".
std::string describe(const Tensor& x);

/// Throws an Error with the message "[op] what".
[[noreturn]] void fail(const char* op, const std::string& what);

/// Calls f with a null pointer whose type is float* or double* according to the dtype, and returns f's result. Error
/// for dtypes other than f32 and f64. Example:
/// `with_real(name(), x.dtype(), [&](auto* type) { using T = element_of<decltype(type)>; … });`
template <class F>
auto with_real(const char* op, DType dtype, F f) {
  if (dtype == DType::f64) return f(static_cast<double*>(nullptr));
  if (dtype != DType::f32) fail(op, std::string("expected dtype f32 or f64, got ") + dtype_name(dtype));
  return f(static_cast<float*>(nullptr));
}
/// Like with_real, but also accepts bf16. In this case, f receives a null pointer of type bfloat16*.
template <class F>
auto with_floating(const char* op, DType dtype, F f) {
  if (dtype == DType::bf16) return f(static_cast<bfloat16*>(nullptr));
  return with_real(op, dtype, f);
}
/// The type that P points to: float, double or bfloat16. P is the type of the pointer that with_real or with_floating
/// passes to f.
template <class P>
using element_of = std::remove_pointer_t<P>;

/// Error unless x is f32 or f64.
void check_real(const char* op, const Tensor& x);
/// Error unless x is bf16, f32 or f64.
void check_floating(const char* op, const Tensor& x);
/// Error unless a and b are defined and have the same dtype.
void check_same_dtype(const char* op, const Tensor& a, const Tensor& b);

/// Returns dim as an axis number in 0 … rank-1. Negative dims count from the last axis. Error if dim is outside
/// -rank … rank-1.
std::size_t checked_dim(const char* op, std::int64_t dim, std::int64_t rank);

/// The shape to which numpy's rules broadcast a and b. Error if a and b can't be broadcast together. The message names
/// both shapes.
Shape broadcast_shapes(const char* op, const Shape& a, const Shape& b);

/// The strides of x after it is broadcast to `shape`. They are 0 along broadcast axes. The broadcast view is
/// x.view(shape, broadcast_strides(x, shape), x.offset()).
Strides broadcast_strides(const Tensor& x, const Shape& shape);

/// Sums g over the axes along which `shape` was broadcast to g's shape, and returns a tensor of that `shape`. This is
/// the backward pass of broadcasting. It is not recorded.
Tensor sum_to(const Tensor& g, const Shape& shape);

}  // namespace weft
WEFT_PUBLIC_END
