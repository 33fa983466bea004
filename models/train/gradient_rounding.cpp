#include "train/gradient_rounding.h"

#include "weft/ops.h"

namespace weft::detail {

void GradientRounding::round(const Tensor& gradient, std::int64_t begin, Tensor& rounded) {
  Tensor rest = rest_.view({gradient.numel()}, {1}, begin);
  raw::accumulate(rest, gradient);
  raw::copy(raw::convert(rest, DType::bf16), rounded);
  raw::copy(sub(rest, raw::convert(rounded, rest.dtype())), rest);
}

}  // namespace weft::detail
