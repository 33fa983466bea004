/// \file
/// Helpers for custom operations, in addition to weft/op.h: argument checks, dispatch over dtypes, broadcasting. The
/// loops fill, copy, convert and accumulate over any strides are in namespace weft::raw (weft/tensor.h); threads are in
/// weft/context.h. models/examples/custom_op.cpp is an example.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>

#include "weft/op.h"
#include "weft/tensor.h"

#pragma GCC visibility push(default)
namespace weft {

/// "an f32 tensor of shape (2, 3)", for messages.
std::string describe(const Tensor& x);

/// Throws Error("[op] what").
[[noreturn]] void fail(const char* op, const std::string& what);

/// Calls f with a null pointer to the element type of a real dtype and returns its result. Error for other dtypes:
/// `with_real(name(), x.dtype(), [&](auto* type) { using T = element_of<decltype(type)>; … });`
template <class F>
auto with_real(const char* op, DType dtype, F f) {
  if (dtype == DType::f64) return f(static_cast<double*>(nullptr));
  if (dtype != DType::f32) fail(op, std::string("expected dtype f32 or f64, got ") + dtype_name(dtype));
  return f(static_cast<float*>(nullptr));
}
/// The same, including bf16.
template <class F>
auto with_floating(const char* op, DType dtype, F f) {
  if (dtype == DType::bf16) return f(static_cast<bfloat16*>(nullptr));
  return with_real(op, dtype, f);
}
/// The element type, float, double or bfloat16, of the pointer that with_real and with_floating pass.
template <class P>
using element_of = std::remove_pointer_t<P>;

/// Error unless x is f32 or f64.
void check_real(const char* op, const Tensor& x);
/// Error unless x is bf16, f32 or f64.
void check_floating(const char* op, const Tensor& x);
/// Error unless both are defined and have the same dtype.
void check_same_dtype(const char* op, const Tensor& a, const Tensor& b);

/// Returns dim as 0 … rank-1. Error if it is outside -rank … rank-1.
std::size_t checked_dim(const char* op, std::int64_t dim, std::int64_t rank);

/// The shape of a and b by numpy's broadcasting rule. Error, with both shapes, if they don't broadcast.
Shape broadcast_shapes(const char* op, const Shape& a, const Shape& b);

/// x's strides when it is viewed as `shape`: 0 along broadcast axes. The view itself is x.view(shape,
/// broadcast_strides(x, shape), x.offset()).
Strides broadcast_strides(const Tensor& x, const Shape& shape);

/// The sum of g over the axes along which `shape` was broadcast to g's shape. This is the backward of broadcasting. Not
/// recorded.
Tensor sum_to(const Tensor& g, const Shape& shape);

}  // namespace weft
#pragma GCC visibility pop
