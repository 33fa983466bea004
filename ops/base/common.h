// What the families of operations share.
#pragma once
#include <cstdint>

#include "base/layout.h"
#include "simd/computed.h"
#include "weft/context.h"
#include "weft/custom_op.h"

namespace weft::detail {

// Elements that are worth a task, of loops that are bound by memory or do little for each: fewer cost more to hand out
// than they save, more leave threads idle at the end. bench: weft-bench --benchmark_filter='add|gate|softmax|c2c|adamw'
inline constexpr std::int64_t task_elements = 1 << 14;

// x itself if it is of the dtype, else converted.
inline Tensor as_dtype(Tensor x, DType dtype) {
  if (x.dtype() == dtype) return x;
  return raw::convert(x, dtype);
}

}  // namespace weft::detail
