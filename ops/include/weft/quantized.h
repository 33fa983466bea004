/// \file
/// Products with weights quantized to 8 bits, for inference (see weft/ops.h for the rules of all operations).
#pragma once
#include <cstdint>

#include "weft/cpu.h"
#include "weft/dense.h"
#include "weft/tensor.h"

#pragma GCC visibility push(default)
namespace weft {

/// A constant weight (out, in) that is quantized to 8 bits with one scale for each row:
/// weight[i][j] ≈ scale[i] · values[i][j]. A quantized weight takes about a quarter of the memory of an f32 weight. The
/// values are stored only once, in the order in which products read them. This order depends on the instruction set of
/// the context that created the object. With another instruction set, every product must rearrange the values. Copies
/// of this object share the weight. Thread-safe.
class QuantizedWeight {
 public:
  /// Quantizes a bf16, f32 or f64 weight (out, in). An f64 weight is first rounded to f32. The scale of a row is
  /// max |row| / 127. The values are weight / scale, rounded to nearest with ties to even, so that
  /// |weight - scale · value| <= (1/2 + 2^-15) scale. A row of zeros has scale 0. If max |row| / 127 is denormal in
  /// f32, it may be rounded down so far that values would lie outside -127 … 127. In this case, the scale is the next
  /// larger f32 number. Error if an element is NaN or infinite, or if `in` is larger than `most_columns`.
  explicit QuantizedWeight(const Tensor& weight);
  /// A weight with the given values (out, in) of dtype i8, which may include -128, and scales (out) of dtype f32. Error
  /// unless all scales are finite and not negative.
  QuantizedWeight(const Tensor& values, const Tensor& scales);

  /// The maximum number of columns. Up to this number, 32-bit integers hold the sums of products exactly.
  static constexpr std::int64_t most_columns = 65536;

  std::int64_t rows() const noexcept { return rows_; }        ///< the number of rows, out
  std::int64_t columns() const noexcept { return columns_; }  ///< the number of columns, in
  /// The values, of shape (out, in) and dtype i8. Each call creates a new tensor.
  Tensor values() const;
  /// The scales, of shape (out) and dtype f32.
  const Tensor& scales() const noexcept { return scales_; }
  /// The dequantized weight, scale · value, of shape (out, in) and dtype f32. Each call creates a new tensor.
  Tensor dequantized() const;
  /// The instruction set for which the weight is arranged.
  Isa isa() const noexcept { return isa_; }

 private:
  friend Tensor quantized_linear(const Tensor& x, const QuantizedWeight& weight, const Tensor& bias,
                                 const Epilogue& epilogue);
  friend Tensor quantized_embedding(const Tensor& indices, const QuantizedWeight& weight);

  // The panels in the order of the current instruction set.
  Tensor panels() const;
  // Writes row i of dequantized() to y.
  void write_row(std::int64_t i, float* y) const;

  std::int64_t rows_ = 0, columns_ = 0;
  Tensor panels_, scales_;
  Isa isa_;
};

/// linear with a quantized weight: y = residual + gate ⊙ act(x Wᵀ + b). x (…, in) is f32 or bf16. y, gate and residual
/// have x's dtype. bias (out) is f32 or has x's dtype. For inference only: Error if a tape would record the operation.
///
/// Each row of x is also quantized, with a scale that is computed from the row's largest magnitude. If x has more than
/// 8 rows, they are quantized to 8 bits. If it has at most 8 rows, as in decoding, they are quantized to 16 bits, so
/// that almost only the weight's quantization error remains. The sums of products are exact, so the bits of y don't
/// depend on the number of threads. A row of y depends on the other rows of x only in one way: their number determines
/// whether 8 or 16 bits are used. Before the activation, the bits are the same on every instruction set.
///
/// Error bound: let s_j be the scale of row j of the weight. Let sx be the scale of row i of x: max |x_i| / 127 for 8
/// bits and max |x_i| / 32512 for 16 bits. Apart from a few rounding errors, the product without bias and epilogue
/// satisfies
/// |y_ij - Σ_p x_ip w_jp| <= Σ_p (|x_ip| s_j / 2 + |w_jp| sx / 2 + sx s_j / 4).
/// If max |x_i| is below about 1.5e-36 for 8 bits or 4e-34 for 16 bits, sx is denormal and therefore less accurate. If
/// a row of x contains NaN or infinity, the whole corresponding row of y is NaN before the activation.
Tensor quantized_linear(const Tensor& x, const QuantizedWeight& weight, const Tensor& bias = {},
                        const Epilogue& epilogue = {});

/// Looks up rows of the dequantized weight. `indices` has shape (…) and dtype i64. The result has shape (…, in) and
/// dtype f32. Error if an index is outside 0 … out-1.
Tensor quantized_embedding(const Tensor& indices, const QuantizedWeight& weight);

}  // namespace weft
#pragma GCC visibility pop
