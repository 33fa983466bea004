// Kernels of products with 4-bit weights, y (m, n) = x (m, k) Wᵀ. dense/int4_product.cpp splits the matrices into the
// pieces that the kernels process.
//
// k is divided into groups of 32. w_jp = s_jg (u_jp - 8) for the p of group g, with u in 0 … 15 and s in bf16. A row of
// x is written as scale · d, or as scale · (256 d_0 + d_1), with digits in -128 … 127. The kernel computes
//   y_ij = scale_i Σ_g s_jg (Σ_p d_ip u_jp - 8 Σ_p d_ip)
// where p runs over group g. The whole number in parentheses is exact in i32, and |it| < 2^24, so it is exact in f32,
// too. The products with s_jg are rounded to f32 and added in the order of g. No bit of y depends on the instruction
// set, on the tile or on the number of threads.
#pragma once
#include <cstdint>

#include "simd/family.h"

namespace weft::detail {

constexpr std::int64_t int4_group = 32;

// The layout of a panel, which holds nr columns of y (rows of W) in (groups, int4_group_bytes(nr)) bytes. A group has
// nr scales in bf16 and then the numbers u. Four u of a column with consecutive p are a unit. A byte holds two of them:
// its low half belongs to one of the units 0 … 3 of the group, and its high half to the unit four later. The bytes have
// the shape (4 units, nr columns, 4). The scale of column j is at j if j < nr / 2, and scales j and j + nr / 2 are
// adjacent, so that 32 bits hold both.
constexpr std::int64_t int4_scale_bytes(std::int64_t nr) { return 2 * nr; }
constexpr std::int64_t int4_group_bytes(std::int64_t nr) { return int4_scale_bytes(nr) + int4_group / 2 * nr; }

// A tile of y: some rows, and the columns of one panel. `rows` · `digits` is at most mr.
struct Int4Tile {
  std::int64_t groups;
  // The digits of the tile's rows have the shape (groups, a_group / 32, 32): a group of each row of digits, one after the
  // other. The rows of digits of one row of x are adjacent, with the higher digit first.
  const std::int8_t* a;
  std::int64_t a_group;             // in bytes
  const std::int32_t* corrections;  // -8 Σ_p d_ip, (groups, correction_group)
  std::int64_t correction_group;
  const std::int8_t* panel;
  int rows, digits;
  std::int64_t columns;
  const float* row_scales;
  float* y;
  std::int64_t y_row;
};

// T is the type of x's elements.
template <class T>
struct Int4Kernels {
  static constexpr std::string_view name = "int4";
  std::int64_t mr, nr;  // the maximum number of rows of digits of a tile, and the number of columns of a panel

  // Rounds x · first · second to the nearest whole numbers of at most `digits` digits. Writes the digits of all groups,
  // with 0 beyond n, and a correction for each group.
  void (*write_digits)(std::int64_t n, const T* x, float first, float second, int digits, std::int8_t* a,
                       std::int64_t a_group, std::int32_t* corrections, std::int64_t correction_group) noexcept;
  void (*tile)(const Int4Tile& tile) noexcept;
};

}  // namespace weft::detail
