// Checks of the indices that operations take.
#pragma once
#include <algorithm>
#include <cstdint>
#include <string>

#include "weft/custom_op.h"
#include "weft/tensor.h"

namespace weft::detail {

// Throws an Error unless all `count` indices are from 0 to size - 1.
inline void check_range(const char* op, const std::int64_t* indices, std::int64_t count, std::int64_t size) {
  const auto is_outside = [size](std::int64_t i) { return i < 0 || i >= size; };
  bool outside = false;  // the loop has no early exit, so that it has no branches
  for (std::int64_t i = 0; i < count; ++i) outside |= is_outside(indices[i]);
  if (outside)
    fail(op, "expected indices from 0 to " + std::to_string(size - 1) + ", got " +
                 std::to_string(*std::find_if(indices, indices + count, is_outside)));
}

inline void check_indices_dtype(const char* op, const Tensor& indices) {
  if (!indices.defined() || indices.dtype() != DType::i64)
    fail(op, "expected indices of dtype i64, got " + describe(indices));
}

}  // namespace weft::detail
