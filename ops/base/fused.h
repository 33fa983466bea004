// Operations that one pass computes and a tape records as two: the second is a cheap one, whose output backward computes
// again from what lies between them instead of keeping it.
#pragma once
#include <memory>

#include "weft/op.h"

namespace weft::detail {

// One of the two, as it is recorded.
struct FusedOp {
  std::unique_ptr<Op> op;
  Inputs in;
};

// y = second(…, first(…), …): first's output, a tensor of `shape` and `dtype`, is second's input `at`.
// compute(between) gives y and writes first's output into `between`, unless that is undefined: nothing is recorded.
// An op of the two that no gradient reaches isn't recorded. Arguments are checked by the caller, before.
Tensor apply_fused(FusedOp first, FusedOp second, std::size_t at, const Shape& shape, DType dtype,
                   FunctionRef<Tensor(const Tensor& between)> compute);

}  // namespace weft::detail
