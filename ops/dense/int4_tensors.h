// Weights in 4 bits as tensors: the panels that products read, and the values and scales that checkpoints store.
#pragma once
#include "dense/int4_weight.h"
#include "weft/cpu.h"

namespace weft::detail {

// The panels of a weight (rows, columns) for one instruction set.
struct Int4Weight {
  Tensor panels;
  std::int64_t rows, columns;
  Isa isa;

  // Rounds a dense f32 weight (out, in), for the current instruction set. Error if an element is NaN, infinite, or
  // larger than 2^127, so that -8 times its scale might be infinite.
  static Int4Weight rounded(const Tensor& weight);
  // Arranges dense packed values and scales for the current instruction set. Error unless all scales are finite.
  static Int4Weight packed(const Tensor& values, const Tensor& scales, std::int64_t columns);
  // The same weight for the current instruction set.
  Int4Weight rearranged() const;

  Tensor values() const;         // i8 (rows, columns)
  Tensor packed_values() const;  // i8 (rows, ceil(columns / 2))
  Tensor scales() const;         // bf16 (rows, groups)
  void dequantize_row(std::int64_t i, float* y) const;
};

}  // namespace weft::detail
