// Kernels of products with 8-bit weights, y (m, n) = x (m, k) Wᵀ. dense/quantized_product.cpp splits the matrices into
// the pieces that the kernels process.
//
// A row of x is written as scale · d, or as scale · (256 d_0 + d_1): integers of one or two digits in -128 … 127, with
// the higher digit first. For the products, the higher digits of a row of x form a row of their own, called a row of
// digits, and so do the lower digits. k is processed in units of 32 bits of a row of digits: four bytes, or two digits
// of 16 bits for instruction sets that multiply 16-bit integers.
//
// For many rows, kernels for instruction sets with 16-bit products also widen a panel to 16 bits. For pairs of units
// (x_0, x_1), (x_2, x_3) of a row of digits and (w_0, w_1), (w_2, w_3) of W they compute
//   (x_0 + w_2) (x_2 + w_0) + (x_1 + w_3) (x_3 + w_1)
//     = x_0 w_0 + x_1 w_1 + x_2 w_2 + x_3 w_3 + (x_0 x_2 + x_1 x_3) + (w_0 w_2 + w_1 w_3).
// This takes one vpmaddwd instead of two, and CPUs have fewer ports for vpmaddwd than for sums (S. Winograd, A new
// algorithm for inner product, 1968). The excess terms, summed over k, depend only on the row of digits or only on the
// column, and are subtracted. In integers this is exact: the sum of a digit and a weight has 9 bits, and sums are
// modulo 2^32.
#pragma once
#include <cstdint>

#include "simd/family.h"

namespace weft::detail {

// The length of a row of digits is a multiple of this.
constexpr std::int64_t digit_step = 64;
// The number of units of a widened panel is a multiple of this.
constexpr std::int64_t wide_step = 4;
constexpr std::int64_t wide_units(std::int64_t units) { return (units + wide_step - 1) / wide_step * wide_step; }

// A tile of y: some rows, and the columns of one panel. The results are multiplied by the scales. `rows` · `digits` is
// at most mr, or at most wide_mr for a widened panel.
struct QuantizedTile {
  std::int64_t k;                // in units
  const std::int32_t* a;         // rows of digits; the digits of one row of x are adjacent
  std::int64_t a_row;            // in units
  const std::int32_t* excesses;  // one for each row of digits
  const std::int8_t* panel;
  const std::int32_t* wide;  // the widened panel, or null
  // The first address that the tile prefetches. With each unit, the address advances by next_step bytes. For a widened
  // panel, the caller prefetches instead.
  const std::int8_t* next;
  std::int64_t next_step;
  int rows, digits;
  std::int64_t columns;
  const float *row_scales, *column_scales;
  float* y;
  std::int64_t y_row;
};

// T is the type of x's elements.
template <class T>
struct QuantizedKernels {
  static constexpr std::string_view name = "quantized";
  // A tile has at most mr rows of digits, or at most wide_mr with a widened panel. A panel has nr columns of y, which
  // are rows of W.
  std::int64_t mr, wide_mr, nr, unit;
  // The prefetch distance in bytes for panels that are read as one stream.
  std::int64_t near_bytes;

  // Packs the first n <= nr rows of `values` into a panel (k / unit, nr, unit), with 0 beyond n and k. `unpack` does
  // the reverse.
  void (*pack)(std::int64_t n, std::int64_t k, const std::int8_t* values, std::int64_t row,
               std::int8_t* panel) noexcept;
  void (*unpack)(std::int64_t n, std::int64_t k, const std::int8_t* panel, std::int8_t* values,
                 std::int64_t row) noexcept;
  // Returns the maximum of |x|, or NaN if any element is NaN or infinite.
  float (*magnitude)(std::int64_t n, const T* x) noexcept;
  // Computes values = x · first · second, rounded to nearest. The results are in -127 … 127.
  void (*quantize)(std::int64_t n, const T* x, float first, float second, std::int8_t* values) noexcept;
  // Rounds x · first · second to the nearest integers of at most `digits` digits. Writes them as `digits` rows of n
  // elements rounded up to digit_step, at distances of `row` units. Also writes the excess of each row's sums of
  // products.
  void (*write_digits)(std::int64_t n, const T* x, float first, float second, int digits, std::int32_t* out,
                       std::int64_t row, std::int32_t* excesses) noexcept;
  // Widens a panel of k units to 16 bits, (1 + wide_units(k), nr) units. The first row holds the initial sums of the
  // columns. Null if products take bytes.
  void (*widen)(std::int64_t k, const std::int8_t* panel, std::int32_t* wide) noexcept = nullptr;
  void (*tile)(const QuantizedTile& tile) noexcept;
  // Computes y = scale · row `i` of a panel.
  void (*dequantize)(std::int64_t k, const std::int8_t* panel, std::int64_t i, float scale, float* y) noexcept;
};

}  // namespace weft::detail
