// Rounds gradients to bf16, which halves the bytes that ranks send to each other. What rounding takes away from a
// gradient is added to the next one, so that nothing of it is lost ("error feedback", Seide et al. 2014, 1-Bit
// Stochastic Gradient Descent; Karimireddy et al. 2019, arXiv 1901.09847). The functions allocate no memory, because a
// rank that fails during an exchange ends all ranks.
#pragma once
#include <cstdint>

#include "weft/tensor.h"

namespace weft::detail {

class GradientRounding {
 public:
  // For gradients of `size` elements of this dtype, f32 or f64.
  GradientRounding(std::int64_t size, DType dtype) : rest_(Tensor::zeros({size}, dtype)) {}

  // rounded = bf16(gradient + rest); rest = gradient + rest - rounded. The gradient is a part of the whole one, and
  // `begin` is its first element. Both tensors have shape (n).
  void round(const Tensor& gradient, std::int64_t begin, Tensor& rounded);

  // Sets the rest to 0.
  void forget() { raw::fill(rest_, 0); }

 private:
  Tensor rest_;
};

// exact = rounded, for a bf16 tensor and one of dtype f32 or f64, both of shape (n).
void copy_rounded(const Tensor& rounded, Tensor& exact);
// exact += rounded.
void add_rounded(const Tensor& rounded, Tensor& exact);

}  // namespace weft::detail
