/// \file
/// Products with weights quantised to 8 bits, for inference (weft/ops.h says what holds for all operations).
#pragma once
#include <cstdint>

#include "weft/cpu.h"
#include "weft/dense.h"
#include "weft/tensor.h"

#pragma GCC visibility push(default)
namespace weft {

/// A weight (out, in) in 8 bits, by rows: weight[i][j] ≈ scale[i] · values[i][j], a quarter of f32's memory. It is
/// constant, and kept once, in the order in which products read it on the instruction set of the context in which it was
/// made; under another one every product puts it in that one's order again. Copies share it, as threads may.
class QuantizedWeight {
 public:
  /// Quantises a bf16, f32 or f64 weight (out, in) (f64: rounded to f32 before): scale = max |row| / 127, values
  /// weight / scale to the nearest, ties to even, so that |weight - scale · value| <= (1/2 + 2^-15) scale. A row of zeros
  /// has scale 0; where max |row| / 127 is a denormal f32, scale is the next larger one if values would leave -127 … 127.
  /// Error if an element is NaN or infinite, and if `in` is above `most_columns`.
  explicit QuantizedWeight(const Tensor& weight);
  /// Of values (out, in) i8, which may be -128, too, and scales (out) f32. Error unless scales are finite and not negative.
  QuantizedWeight(const Tensor& values, const Tensor& scales);

  /// Up to so many columns sums of products are exact in 32 bits.
  static constexpr std::int64_t most_columns = 65536;

  std::int64_t rows() const noexcept { return rows_; }        ///< out
  std::int64_t columns() const noexcept { return columns_; }  ///< in
  /// (out, in), i8: made at each call.
  Tensor values() const;
  /// (out), f32.
  const Tensor& scales() const noexcept { return scales_; }
  /// scale · value, (out, in), f32: made at each call.
  Tensor dequantized() const;
  /// The instruction set whose order it is in.
  Isa isa() const noexcept { return isa_; }

 private:
  friend Tensor quantized_linear(const Tensor& x, const QuantizedWeight& weight, const Tensor& bias,
                                 const Epilogue& epilogue);
  friend Tensor quantized_embedding(const Tensor& indices, const QuantizedWeight& weight);

  // In the order of the current instruction set.
  Tensor panels() const;
  // Row i of dequantized().
  void write_row(std::int64_t i, float* y) const;

  std::int64_t rows_ = 0, columns_ = 0;
  Tensor panels_, scales_;
  Isa isa_;
};

/// linear, of a quantised weight: y = residual + gate ⊙ act(x Wᵀ + b). x (…, in) f32 or bf16; y, gate and residual are of
/// its dtype, bias (out) is f32 or of it. For inference: Error if a tape would record it.
///
/// Rows of x are quantised, too, each by its largest element: where x has more than 8 rows, to 8 bits; where it has fewer,
/// as decoding has, to 16 bits, which leaves the weight's error alone. Sums of products are exact, so that y's bits don't
/// depend on the number of threads, nor on other rows but for their number being above 8, and are those of every
/// instruction set up to the activation. With s the quantised weight's scales, and sx = max |x_i| / 127 (/ 32512 where to
/// 16 bits), which has fewer bits where it is denormal, of max |x_i| < 4e-34:
/// |y_ij - Σ_p x_ip w_jp| <= Σ_p (|x_ip| s_j / 2 + |w_jp| sx / 2 + sx s_j / 4), and some roundings.
/// A row of x with a NaN or infinity gives NaN (before the activation) in all of that row of y.
Tensor quantized_linear(const Tensor& x, const QuantizedWeight& weight, const Tensor& bias = {},
                        const Epilogue& epilogue = {});

/// Rows of scale · value by indices (…) i64: (…, in), f32. Error if an index is outside 0 … out-1.
Tensor quantized_embedding(const Tensor& indices, const QuantizedWeight& weight);

}  // namespace weft
#pragma GCC visibility pop
