// What the architectures' language models and classifiers share.
#pragma once
#include <cstdint>
#include <vector>

#include "weft/layers.h"

namespace weft::detail {

// (length, d): sin(p / 10000^(2i/d)) and cos(p / 10000^(2i/d)) in channels 2i and 2i+1. Vaswani et al. 2017.
Tensor sinusoidal_positions(std::int64_t length, std::int64_t d, DType dtype);

// The mean of x (b, n, d) over the tokens (b, n) that are not padding, 0: (b, d). Zeros where all are.
Tensor mean_of_tokens(const Tensor& x, const Tensor& tokens);

// Of each parameter's value, in their order.
std::vector<std::uint64_t> versions_of(const NamedParameters& parameters);

}  // namespace weft::detail
