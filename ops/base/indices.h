// Checks of the indices that operations take.
#pragma once
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <string>

#include "base/common.h"

namespace weft::detail {

// Throws an Error unless all of these indices are from 0 to size - 1.
inline void check_range(const char* op, const std::int64_t* indices, std::int64_t count, std::int64_t size) {
  const auto is_outside = [size](std::int64_t i) { return i < 0 || i >= size; };
  std::atomic<bool> failed = false;
  Context::current().parallel_for(count, task_elements, [&](std::int64_t begin, std::int64_t end) {
    bool outside = false;  // without an early end, the loop has no branches
    for (std::int64_t i = begin; i < end; ++i) outside |= is_outside(indices[i]);
    if (outside) failed = true;
  });
  if (failed)
    fail(op, "expected indices from 0 to " + std::to_string(size - 1) + ", got " +
                 std::to_string(*std::find_if(indices, indices + count, is_outside)));
}

inline void check_indices_dtype(const char* op, const Tensor& indices) {
  if (!indices.defined() || indices.dtype() != DType::i64)
    fail(op, "expected indices of dtype i64, got " + describe(indices));
}

}  // namespace weft::detail
