// What the architectures' language models and classifiers share.
#pragma once
#include "weft/layers.h"

namespace weft {

// (length, d): sin(p / 10000^(2i/d)) and cos(p / 10000^(2i/d)) in channels 2i and 2i+1. Vaswani et al. 2017.
Tensor sinusoidal_positions(std::int64_t length, std::int64_t d, DType dtype);

// The mean of x (b, n, d) over the tokens (b, n) that are not padding, 0: (b, d). Zeros where all are.
Tensor mean_of_tokens(const Tensor& x, const Tensor& tokens);

// Error unless tokens are i64 (b, n) with 1 <= n <= max_length (0: any).
void check_tokens(const std::string& model, const Tensor& tokens, std::int64_t max_length);

}  // namespace weft
