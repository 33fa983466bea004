// Weights in 4 bits: rounding, and the panels that products read.
#pragma once
#include <algorithm>
#include <cstdint>

#include "dense/kernels/int4.h"
#include "weft/bfloat16.h"
#include "weft/tensor.h"

namespace weft::detail {

constexpr std::int64_t int4_groups(std::int64_t columns) { return (columns + int4_group - 1) / int4_group; }
// The number of bytes of a row of packed values.
constexpr std::int64_t int4_row_bytes(std::int64_t columns) { return (columns + 1) / 2; }

// The layout of a weight: `count` panels of `nr` rows (kernels/int4.h), one after the other. It belongs to the kernels
// of one instruction set.
struct Int4Panels {
  std::int64_t nr, columns, groups, count;
  Int4Panels(std::int64_t panel_rows, std::int64_t rows, std::int64_t k)
      : nr(panel_rows), columns(k), groups(int4_groups(k)), count((rows + nr - 1) / nr) {}
  std::int64_t bytes() const { return groups * int4_group_bytes(nr); }

  // Writes the values and scales of a row to their place in `panels`, and reads them from there.
  void write_row(std::int64_t row, const std::int8_t* values, const bfloat16* scales, std::int8_t* panels) const;
  void read_row(std::int64_t row, const std::int8_t* panels, std::int8_t* values, bfloat16* scales) const;
  // Writes scale · value for the elements of a row to y.
  void dequantize_row(std::int64_t row, const std::int8_t* panels, float* y) const;

 private:
  std::int64_t group_at(std::int64_t row, std::int64_t g) const {
    return row / nr * bytes() + g * int4_group_bytes(nr);
  }
  std::int64_t scale_at(std::int64_t row) const {
    const std::int64_t column = row % nr, lanes = nr / 2;
    return column % lanes * 4 + column / lanes * 2;
  }
  // Reads the values of a group, of which `width(g)` are elements of the weight, and returns their scale.
  bfloat16 read_group(std::int64_t row, std::int64_t g, const std::int8_t* panels, std::int8_t* values) const;
  std::int64_t width(std::int64_t g) const { return std::min(int4_group, columns - g * int4_group); }
};

// The scale of a group of n weights, and their values in -8 … 7. QuantizedWeight describes the rule.
bfloat16 int4_scale(std::int64_t n, const float* w);
// Returns w / scale, rounded to -8 … 7, or 0 if the scale is 0.
int int4_value(float w, float scale);
// Rounds n weights, and writes the scales of their groups.
void round_to_int4(std::int64_t n, const float* w, std::int8_t* values, bfloat16* scales);
// Packs n values: value + 8, two in a byte, the first one in the low half.
void pack_int4(std::int64_t n, const std::int8_t* values, std::int8_t* packed);
void unpack_int4(std::int64_t n, const std::int8_t* packed, std::int8_t* values);

}  // namespace weft::detail
