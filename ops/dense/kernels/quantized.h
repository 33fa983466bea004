// Kernels of products with weights in 8 bits, y (m, n) = x (m, k) Wᵀ; dense/quantized_product.cpp cuts the matrices into
// the pieces they see.
//
// A row of x is written as scale · d, or scale · (256 d_0 + d_1), whole numbers of one or two digits in -128 … 127, the
// higher first: rows of digits, which products take for rows of their own. k goes by units, 32 bits of a row of digits:
// four bytes, or two digits of 16 bits for the instruction sets that multiply such.
//
// Those take a panel for many rows in a form of 16 bits, too, and for pairs of units (x_0, x_1), (x_2, x_3) of a row of
// digits and (w_0, w_1), (w_2, w_3) of W compute
//   (x_0 + w_2) (x_2 + w_0) + (x_1 + w_3) (x_3 + w_1)
//     = x_0 w_0 + x_1 w_1 + x_2 w_2 + x_3 w_3 + (x_0 x_2 + x_1 x_3) + (w_0 w_2 + w_1 w_3):
// one vpmaddwd instead of two, for which there are fewer ports than for sums (S. Winograd, A new algorithm for inner
// product, 1968). What is too much in the sums over k belongs to a row of digits or a column alone and is subtracted. In
// whole numbers that changes nothing: a digit and a weight have 9 bits together, and sums are modulo 2^32.
#pragma once
#include <cstdint>

#include "simd/family.h"

namespace weft::detail {

// Rows of digits are of a multiple of so many.
constexpr std::int64_t digit_step = 64;
// Widened panels are of a multiple of so many units.
constexpr std::int64_t wide_step = 4;
constexpr std::int64_t wide_units(std::int64_t units) { return (units + wide_step - 1) / wide_step * wide_step; }

// Some rows of y, `rows` · `digits` <= mr, of a widened panel <= wide_mr, and columns of one panel, times scales.
struct QuantizedTile {
  std::int64_t k;                // units
  const std::int32_t* a;         // rows of digits: those of a row of x are neighbours
  std::int64_t a_row;            // units
  const std::int32_t* excesses;  // of each row of digits
  const std::int8_t* panel;
  const std::int32_t* wide;  // the panel widened, or null
  const std::int8_t*
      next;  // prefetched, so many bytes further on with each unit; by the caller, if the panel is widened
  std::int64_t next_step;
  int rows, digits;
  std::int64_t columns;
  const float *row_scales, *column_scales;
  float* y;
  std::int64_t y_row;
};

// T is x's element type.
template <class T>
struct QuantizedKernels {
  static constexpr std::string_view name = "quantized";
  // A tile has at most mr rows of digits, wide_mr with a widened panel; a panel has nr columns of y, rows of W.
  std::int64_t mr, wide_mr, nr, unit;

  // A panel of the first n <= nr rows of `values`: (k / unit, nr, unit), 0 beyond n and k. And back.
  void (*pack)(std::int64_t n, std::int64_t k, const std::int8_t* values, std::int64_t row,
               std::int8_t* panel) noexcept;
  void (*unpack)(std::int64_t n, std::int64_t k, const std::int8_t* panel, std::int8_t* values,
                 std::int64_t row) noexcept;
  // The largest |x|; NaN if any is NaN or infinite.
  float (*magnitude)(std::int64_t n, const T* x) noexcept;
  // values = x · first · second to the nearest, which is in -127 … 127.
  void (*quantize)(std::int64_t n, const T* x, float first, float second, std::int8_t* values) noexcept;
  // x · first · second to the nearest, which has at most `digits` digits: so many rows, `row` units apart, of n rounded up
  // to digit_step; and of each what its sums of products are too large by.
  void (*write_digits)(std::int64_t n, const T* x, float first, float second, int digits, std::int32_t* out,
                       std::int64_t row, std::int32_t* excesses) noexcept;
  // A panel of k units in 16 bits, (1 + wide_units(k), nr) units: first what the sums of each column start with. Null if
  // products take bytes.
  void (*widen)(std::int64_t k, const std::int8_t* panel, std::int32_t* wide) noexcept = nullptr;
  void (*tile)(const QuantizedTile& tile) noexcept;
  // y = scale · row `i` of a panel.
  void (*dequantize)(std::int64_t k, const std::int8_t* panel, std::int64_t i, float scale, float* y) noexcept;
};

}  // namespace weft::detail
