// Two operations that are computed in one pass and recorded separately on the tape. The second operation is cheap
// (Op::cheap), so the tape does not keep its output. Backward recomputes it from the output of the first operation.
#pragma once
#include <memory>

#include "weft/op.h"

namespace weft::detail {

// One of the two operations, with the arguments for recording it.
struct FusedOp {
  std::unique_ptr<Op> op;
  Inputs in;
};

// y = second(…, first(…), …). The output of `first`, a tensor of `shape` and `dtype`, is input number `at` of `second`.
// compute(between) returns y and writes the output of `first` into `between`. If nothing is recorded, `between` is
// undefined, and compute returns only y. If no gradient reaches one of the two ops, that op is not recorded. The caller
// checks the arguments before the call.
Tensor apply_fused(FusedOp first, FusedOp second, std::size_t at, const Shape& shape, DType dtype,
                   FunctionRef<Tensor(const Tensor& between)> compute);

}  // namespace weft::detail
