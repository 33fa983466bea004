#include "base/fused.h"

#include "weft/tape.h"

namespace weft::detail {

Tensor apply_fused(FusedOp first, FusedOp second, std::size_t at, const Shape& shape, DType dtype,
                   FunctionRef<Tensor(const Tensor& between)> compute) {
  return detail::run_op(second.op->name(), [&] {
    first.op->recording = would_record(first.in);
    second.op->recording = first.op->recording || would_record(second.in);
    Tensor between = second.op->recording ? Tensor::empty(shape, dtype) : Tensor();
    Tensor y;
    {
      const NoGrad suspended;
      y = compute(between);
    }
    if (!second.op->recording) return y;
    if (first.op->recording) between = detail::record(std::move(first.op), first.in, std::move(between));
    second.in[at] = std::move(between);
    return detail::record(std::move(second.op), second.in, std::move(y));
  });
}

}  // namespace weft::detail
