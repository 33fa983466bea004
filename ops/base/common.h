// Constants and functions that the families of operations share.
#pragma once
#include <cstdint>

#include "base/layout.h"
#include "simd/computed.h"
#include "weft/context.h"
#include "weft/custom_op.h"
#include "weft/shape.h"

namespace weft::detail {

// The number of elements per task, for loops that are limited by memory bandwidth or do little work per element.
// Larger: threads are idle at the end. Smaller: more overhead per task. bench: weft-bench
// --benchmark_filter='add|gate|softmax|c2c|adamw'
inline constexpr std::int64_t task_elements = 1 << 14;
// The number of rows per task, for rows of n elements.
constexpr std::int64_t rows_per_task(std::int64_t n) { return n < task_elements ? task_elements / (n > 0 ? n : 1) : 1; }

// Returns f(x), where f consists of several operations. If x is bf16, the operations compute in f32, so that the result
// is rounded only once.
template <class F>
Tensor rounded_once(const Tensor& x, F f) {
  return x.dtype() == DType::bf16 ? cast(f(cast(x, DType::f32)), DType::bf16) : f(x);
}

// Throws an Error if the tensor is undefined.
inline void check_defined(const char* op, const Tensor& x) {
  if (!x.defined()) fail(op, "the tensor is undefined");
}

// Returns x itself if it has this dtype, otherwise a converted copy.
inline Tensor as_dtype(Tensor x, DType dtype) {
  if (x.dtype() == dtype) return x;
  return raw::convert(x, dtype);
}

}  // namespace weft::detail
