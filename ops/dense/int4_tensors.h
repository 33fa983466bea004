// Weights in 4 bits as tensors: the panels that products read, and the values and scales that checkpoints store.
#pragma once
#include "dense/int4_weight.h"
#include "weft/cpu.h"

namespace weft::detail {

// Throws an Error if an element of a dense f32 weight is NaN, infinite, or larger than 2^127, so that -8 times its scale
// might be infinite.
void check_int4_range(const Tensor& weight);

// The panels of a weight (rows, columns) for one instruction set.
struct Int4Weight {
  Tensor panels;
  std::int64_t rows, columns;
  Isa isa;

  // Rounds a dense f32 weight (out, in), for the current instruction set. Calls check_int4_range.
  static Int4Weight rounded(const Tensor& weight);
  // Arranges dense values (out, in) of dtype i8 in -8 … 7 and scales of groups for the current instruction set.
  static Int4Weight of(const Tensor& values, const Tensor& scales);
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
