// What the families of operations share: dtype dispatch, checks, broadcasting.
#pragma once
#include <string>
#include <vector>

#include "weft/op.h"
#include "weft/ops.h"

namespace weft {

// Elements that are worth a task, of loops that are bound by memory or do little for each: fewer cost more to hand out
// than they save, more leave threads idle at the end. bench: weft-bench --benchmark_filter='add|gate|softmax|c2c|adamw'
inline constexpr std::int64_t task_elements = 1 << 14;

// "f32 (2, 3)", for messages.
std::string describe(const Tensor& x);

[[noreturn]] void fail(const char* op, const std::string& what);  // throws Error("[op] what")

// Calls f with a null pointer to the element type of a real dtype; Error for others.
template <class F>
auto with_real(const char* op, DType dtype, F f) {
  if (dtype == DType::f64) return f(static_cast<double*>(nullptr));
  if (dtype != DType::f32) fail(op, std::string("expected f32 or f64, got ") + dtype_name(dtype));
  return f(static_cast<float*>(nullptr));
}
template <class P> using element_of = std::remove_pointer_t<P>;

void check_real(const char* op, const Tensor& x);
void check_same_dtype(const char* op, const Tensor& a, const Tensor& b);

// dim in 0 … rank-1; Error if it is outside -rank … rank-1.
std::size_t checked_dim(const char* op, std::int64_t dim, std::int64_t rank);

// numpy's rule; Error names both shapes.
Shape broadcast_shapes(const char* op, const Shape& a, const Shape& b);

// x's strides when it is seen as `shape`: 0 along broadcast axes.
Strides broadcast_strides(const Tensor& x, const Shape& shape);

// The sum of g over the axes along which `shape` was broadcast to g's shape. Not recorded.
Tensor sum_to(const Tensor& g, const Shape& shape);

// The following are views where x's strides allow, else copies; not recorded.
// x (…, k) as a matrix (m, k), k the product of the last `axes`.
Tensor as_matrix(const Tensor& x, std::int64_t axes = 1);
Tensor as_rows(const Tensor& x, std::int64_t axes = 1);  // the same with contiguous rows
Tensor with_contiguous_rows(const Tensor& x);            // x, the elements of its last axis side by side
bool has_contiguous_rows(const Tensor& x);

}  // namespace weft
