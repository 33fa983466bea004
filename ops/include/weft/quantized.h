/// \file
/// Products with weights quantized to 8 or 4 bits, for inference (see weft/ops.h for the rules of all operations).
#pragma once
#include <cstdint>

#include "weft/cpu.h"
#include "weft/dense.h"
#include "weft/tensor.h"
#include "weft/visibility.h"

WEFT_PUBLIC_BEGIN
namespace weft {

/// A constant weight (out, in) that is quantized to 8 or to 4 bits:
/// - 8 bits: each row has a scale, and weight[i][j] ≈ scale[i] · value[i][j].
/// - 4 bits: each group of 32 consecutive columns of a row has a scale, and
///   weight[i][j] ≈ scale[i][j / 32] · value[i][j]. The last group of a row may be shorter.
///
/// A quantized weight takes about a quarter or a seventh of the memory of an f32 weight. The values are stored only
/// once, in the order in which products read them. This order depends on the instruction set of the context that
/// created the object. With another instruction set, every product must rearrange the values. Copies of this object
/// share the weight. Thread-safe.
class QuantizedWeight {
 public:
  /// Quantizes a bf16, f32 or f64 weight (out, in) to `bits` bits, 8 or 4. An f64 weight is first rounded to f32. The
  /// values are weight / scale, rounded to nearest with ties to even.
  /// - 8 bits: the scale of a row is max |row| / 127, so that |weight - scale · value| <= (1/2 + 2^-15) scale. A row of
  ///   zeros has scale 0. If max |row| / 127 is denormal in f32, it may be rounded down so far that values would lie
  ///   outside -127 … 127. In this case, the scale is the next larger f32 number.
  /// - 4 bits: let m be the element of the group with the largest magnitude, the first one if there are several. The
  ///   scale is one of nine numbers from -m / 6.5 to -m / 8.5, rounded to bf16: the one with the smallest sum of
  ///   squared errors. It may be negative. The values are in -8 … 7, so |weight - scale · value| is at most |scale| / 2
  ///   unless the value is -8 or 7, and never more than 1.6 |scale|. A group of zeros has scale 0, and so has a group
  ///   with |m| < 2^-120. Error if |m| > 2^127.
  ///
  /// Error if an element is NaN or infinite, if `in` is larger than `most_columns`, or if `bits` is neither 8 nor 4.
  explicit QuantizedWeight(const Tensor& weight, int bits = 8);
  /// A weight in 8 bits with the given values (out, in) of dtype i8, which may include -128, and scales (out) of dtype
  /// f32. Error unless all scales are finite and not negative.
  QuantizedWeight(const Tensor& values, const Tensor& scales);
  /// A weight in 4 bits (out, columns) with the given packed_values() and scales, of dtype bf16 and shape
  /// (out, ceil(columns / 32)). Error unless all scales are finite.
  QuantizedWeight(const Tensor& packed_values, const Tensor& scales, std::int64_t columns);
  /// Rounds a weight (out, in) to 4 bits with error feedback, for inputs x with the given moments Σ x xᵀ, of dtype f32
  /// and shape (in, in). Compared with QuantizedWeight(weight, 4), the sum of ‖(weight - rounded) x‖² over the inputs is
  /// smaller if the elements of x are correlated. The elements of a row are rounded from the last to the first. Each one
  /// also compensates for the errors of those after it, as in GPTQ. 1 % of the mean of the moments' diagonal is added to
  /// the diagonal. A group's scale follows the rule of the constructor, for its compensated elements. The time is
  /// proportional to in³ / 3 + out · in². The last bits of the feedback, and therefore a few values, depend on the
  /// instruction set. Error as for the constructor, or if the moments are not finite or have a negative eigenvalue.
  static QuantizedWeight fitted(const Tensor& weight, const Tensor& moments);

  /// The maximum number of columns. Up to this number, 32-bit integers hold the sums of products exactly.
  static constexpr std::int64_t most_columns = 65536;
  /// The number of columns that share a scale, for 4 bits.
  static constexpr std::int64_t group = 32;

  int bits() const noexcept { return bits_; }                 ///< 8 or 4
  std::int64_t rows() const noexcept { return rows_; }        ///< the number of rows, out
  std::int64_t columns() const noexcept { return columns_; }  ///< the number of columns, in
  /// The values, of shape (out, in) and dtype i8. For 4 bits they are in -8 … 7. Each call creates a new tensor.
  Tensor values() const;
  /// The values of a weight in 4 bits, two in a byte, of shape (out, ceil(in / 2)) and dtype i8. The low half of byte j
  /// is value 2j + 8, and the high half is value 2j + 1 + 8, or 8 beyond the last column. Each call creates a new
  /// tensor. Error for 8 bits.
  Tensor packed_values() const;
  /// The scales: of shape (out) and dtype f32 for 8 bits, and of shape (out, ceil(in / 32)) and dtype bf16 for 4 bits.
  Tensor scales() const;
  /// The dequantized weight, scale · value, of shape (out, in) and dtype f32. Each call creates a new tensor.
  Tensor dequantized() const;
  /// The instruction set for which the weight is arranged.
  Isa isa() const noexcept { return isa_; }

 private:
  QuantizedWeight() noexcept : isa_(Isa()) {}
  friend Tensor quantized_linear(const Tensor& x, const QuantizedWeight& weight, const Tensor& bias,
                                 const Epilogue& epilogue);
  friend Tensor quantized_embedding(const Tensor& indices, const QuantizedWeight& weight);

  // The panels in the order of the current instruction set.
  Tensor panels() const;
  // Writes row i of dequantized() to y.
  void write_row(std::int64_t i, float* y) const;

  int bits_ = 8;
  std::int64_t rows_ = 0, columns_ = 0;
  Tensor panels_;
  Tensor scales_;  // for 8 bits; the panels contain the scales of 4 bits
  Isa isa_;
};

/// linear with a quantized weight: y = residual + gate ⊙ act(x Wᵀ + b). x (…, in) is f32 or bf16. y, gate and residual
/// have x's dtype. bias (out) is f32 or has x's dtype. For inference only: Error if a tape would record the operation.
///
/// Each row of x is also quantized, with a scale that is computed from the row's largest magnitude. If x has more than
/// 8 rows, they are quantized to 8 bits. If it has at most 8 rows, as in decoding, they are quantized to 16 bits, so
/// that almost only the weight's quantization error remains. The sums of products are exact for a weight in 8 bits. For
/// 4 bits the sums of each group are exact, and the groups are added in f32 in their order. The bits of y therefore
/// don't depend on the number of threads. A row of y depends on the other rows of x only in one way: their number
/// determines whether 8 or 16 bits are used. Before the activation, the bits are the same on every instruction set.
///
/// Error bound: let e_jp be the error of the weight's element: at most s_j / 2 for 8 bits with the scale s_j of row j,
/// and as QuantizedWeight says for 4 bits. Let sx be the scale of row i of x: max |x_i| / 127 for 8 bits and
/// max |x_i| / 32512 for 16 bits. Apart from a few rounding errors, the product without bias and epilogue satisfies
/// |y_ij - Σ_p x_ip w_jp| <= Σ_p (|x_ip| e_jp + |w_jp| sx / 2 + sx e_jp / 2).
/// For a weight in 4 bits, the rounding errors of adding G = ceil(in / 32) groups are at most (G + 2) 2^-24 times
/// Σ_p |x_ip w_jp|, with the quantized x and w.
/// If max |x_i| is below about 1.5e-36 for 8 bits or 4e-34 for 16 bits, sx is denormal and therefore less accurate. If
/// a row of x contains NaN or infinity, the whole corresponding row of y is NaN before the activation.
Tensor quantized_linear(const Tensor& x, const QuantizedWeight& weight, const Tensor& bias = {},
                        const Epilogue& epilogue = {});

/// Looks up rows of the dequantized weight. `indices` has shape (…) and dtype i64. The result has shape (…, in) and
/// dtype f32. Error if an index is outside 0 … out-1.
Tensor quantized_embedding(const Tensor& indices, const QuantizedWeight& weight);

}  // namespace weft
WEFT_PUBLIC_END
