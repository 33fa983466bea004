// Two operations that one pass computes and a tape records separately. The second one is cheap: backward recomputes its
// output from the tensor between them instead of keeping it.
#pragma once
#include <memory>

#include "weft/op.h"

namespace weft::detail {

// One of the two operations, as it is recorded.
struct FusedOp {
  std::unique_ptr<Op> op;
  Inputs in;
};

// y = second(…, first(…), …): first's output, a tensor of `shape` and `dtype`, is input number `at` of second.
// compute(between) returns y and writes first's output into `between`, unless `between` is undefined: then nothing is
// recorded. If no gradient reaches one of the two ops, that op is not recorded. The caller checks the arguments before
// the call.
Tensor apply_fused(FusedOp first, FusedOp second, std::size_t at, const Shape& shape, DType dtype,
                   FunctionRef<Tensor(const Tensor& between)> compute);

}  // namespace weft::detail
