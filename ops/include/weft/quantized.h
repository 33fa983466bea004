/// \file
/// Products with weights quantized to 8 bits, for inference (see weft/ops.h for the rules of all operations).
#pragma once
#include <cstdint>

#include "weft/cpu.h"
#include "weft/dense.h"
#include "weft/tensor.h"

#pragma GCC visibility push(default)
namespace weft {

/// A weight (out, in) in 8 bits, quantized by rows: weight[i][j] ≈ scale[i] · values[i][j]. It takes a quarter of the
/// memory of f32. It is constant. It is stored once, in the order in which products read it on the instruction set of
/// the context that created it; under another instruction set, every product rearranges it. Copies share the weight.
/// Thread-safe.
class QuantizedWeight {
 public:
  /// Quantizes a bf16, f32 or f64 weight (out, in); f64 is rounded to f32 first. scale = max |row| / 127. The values
  /// are weight / scale to the nearest, ties to even, so that |weight - scale · value| <= (1/2 + 2^-15) scale. A row of
  /// zeros has scale 0. If max |row| / 127 is a denormal f32, scale is the next larger one if values would otherwise
  /// leave -127 … 127. Error if an element is NaN or infinite, or if `in` is above `most_columns`.
  explicit QuantizedWeight(const Tensor& weight);
  /// Uses values (out, in) i8, which may include -128, and scales (out) f32. Error unless the scales are finite and not
  /// negative.
  QuantizedWeight(const Tensor& values, const Tensor& scales);

  /// The maximum number of columns. Up to this number, sums of products are exact in 32-bit integers.
  static constexpr std::int64_t most_columns = 65536;

  std::int64_t rows() const noexcept { return rows_; }        ///< out
  std::int64_t columns() const noexcept { return columns_; }  ///< in
  /// The values, of shape (out, in) and dtype i8. Each call creates a new tensor.
  Tensor values() const;
  /// The scales, of shape (out) and dtype f32.
  const Tensor& scales() const noexcept { return scales_; }
  /// scale · value, of shape (out, in) and dtype f32. Each call creates a new tensor.
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

/// linear with a quantized weight: y = residual + gate ⊙ act(x Wᵀ + b). x (…, in) is f32 or bf16; y, gate and residual
/// have its dtype; bias (out) is f32 or has x's dtype. Inference only: throws
/// an Error if a tape would record it.
///
/// Rows of x are quantized, too, each by its largest element. If x has more than 8 rows, they are quantized to 8 bits.
/// If it has at most 8 rows, as in decoding, they are quantized to 16 bits, which leaves almost only the weight's
/// error. Sums of products are exact. So the bits of y don't depend on the number of threads. They depend on the other
/// rows only by whether there are more than 8. Up to the activation they are the same on every instruction set.
///
/// Let s be the scales of the quantized weight, and sx = max |x_i| / 127 (/ 32512 for 16 bits). sx has fewer bits where
/// it is denormal, for max |x_i| < 4e-34. Then, up to some roundings,
/// |y_ij - Σ_p x_ip w_jp| <= Σ_p (|x_ip| s_j / 2 + |w_jp| sx / 2 + sx s_j / 4).
/// If a row of x contains NaN or infinity, that whole row of y is NaN (before the activation).
Tensor quantized_linear(const Tensor& x, const QuantizedWeight& weight, const Tensor& bias = {},
                        const Epilogue& epilogue = {});

/// Looks up rows of scale · value. `indices` has shape (…) and dtype i64, the result has shape (…, in) and dtype f32.
/// Error if an index is outside 0 … out-1.
Tensor quantized_embedding(const Tensor& indices, const QuantizedWeight& weight);

}  // namespace weft
#pragma GCC visibility pop
