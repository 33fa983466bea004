// A causal Toeplitz product as a recurrence, for token streams.
#pragma once
#include "weft/tensor.h"

namespace weft::detail {

// Returns y (n, d) for v (n, d), n >= 1: y_i = Σ_(k <= i) t_k v_(i-k) in each channel, where
// t_k = Σ_j (a_j Re λ_j^k + b_j Im λ_j^k) has K complex exponentials. `factors` (K, 4, d) contains Re(λ - 1), Im λ, a
// and b. `state` (K, 2, d) contains the real and imaginary parts of s_j = Σ_k λ_j^k v_(i-k) for the rows before the
// first. It is replaced by a new tensor with those for the last row. All tensors are contiguous, and either f32 or f64.
// Each row costs O(K d), and y has the same bits if the rows are passed in several calls.
Tensor run_recurrence(const Tensor& v, const Tensor& factors, Tensor& state);

}  // namespace weft::detail
