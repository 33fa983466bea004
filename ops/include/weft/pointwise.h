/// \file
/// Functions of single elements (see weft/ops.h for the rules of all operations).
#pragma once
#include "weft/activation.h"
#include "weft/random.h"
#include "weft/tensor.h"

#pragma GCC visibility push(default)
namespace weft {

/// a + b with numpy's broadcasting. Both operands are real or complex and have the same dtype.
Tensor add(const Tensor& a, const Tensor& b);
/// a - b, with the rules of add.
Tensor sub(const Tensor& a, const Tensor& b);
/// a · b, with the rules of add.
Tensor mul(const Tensor& a, const Tensor& b);
/// a / b, with the rules of add.
Tensor div(const Tensor& a, const Tensor& b);
/// add
inline Tensor operator+(const Tensor& a, const Tensor& b) { return add(a, b); }
/// sub
inline Tensor operator-(const Tensor& a, const Tensor& b) { return sub(a, b); }
/// mul
inline Tensor operator*(const Tensor& a, const Tensor& b) { return mul(a, b); }
/// div
inline Tensor operator/(const Tensor& a, const Tensor& b) { return div(a, b); }
/// factor · x, real or complex.
Tensor scale(const Tensor& x, double factor);
/// -x, real or complex.
Tensor neg(const Tensor& x);
/// x + c, real or complex. In operators with a number, a real x computes with c in f32 if x is bf16, otherwise in x's
/// dtype.
Tensor operator+(const Tensor& x, double c);
/// c + x
inline Tensor operator+(double c, const Tensor& x) { return x + c; }
/// neg
inline Tensor operator-(const Tensor& x) { return neg(x); }
/// x - c
inline Tensor operator-(const Tensor& x, double c) { return x + -c; }
/// c - x
inline Tensor operator-(double c, const Tensor& x) { return neg(x) + c; }
/// scale
inline Tensor operator*(const Tensor& x, double factor) { return scale(x, factor); }
/// scale
inline Tensor operator*(double factor, const Tensor& x) { return scale(x, factor); }
/// x / c, real or complex. Each element is divided by c, with one rounding.
Tensor operator/(const Tensor& x, double c);
/// c / x, real or complex.
Tensor operator/(double c, const Tensor& x);

/// e^x. This function and the following ones take real tensors.
Tensor exp(const Tensor& x);
/// The natural logarithm.
Tensor log(const Tensor& x);
/// √x
Tensor sqrt(const Tensor& x);
/// x²
Tensor square(const Tensor& x);
/// e^x - 1, accurate near 0.
Tensor expm1(const Tensor& x);
/// ln(1 + x), accurate near 0.
Tensor log1p(const Tensor& x);
/// 1 / √x
Tensor rsqrt(const Tensor& x);
/// 1 / x
Tensor reciprocal(const Tensor& x);
/// |x|. For complex x, which is allowed here, the result is real. The gradient at 0 is 0.
Tensor abs(const Tensor& x);
/// -1, 0 or 1, and 0 for NaN. The gradient is 0.
Tensor sign(const Tensor& x);
/// The sine of an angle in radians. Any angle is reduced exactly; the error is at most 0.9 ULP
/// (ops/simd/trigonometry.h).
Tensor sin(const Tensor& x);
/// The cosine, with the rules of sin.
Tensor cos(const Tensor& x);
/// 2/√π ∫ e^(-t²) dt from 0 to x
Tensor erf(const Tensor& x);
/// ln(1 + e^x). Does not overflow, for any x.
Tensor softplus(const Tensor& x);
/// function(x)
Tensor activation(const Tensor& x, Activation function);
/// activation with Activation::relu: max(x, 0)
Tensor relu(const Tensor& x);
/// activation with Activation::gelu
Tensor gelu(const Tensor& x);
/// activation with Activation::silu: x · sigmoid(x)
Tensor silu(const Tensor& x);
/// activation with Activation::sigmoid: 1 / (1 + e^-x)
Tensor sigmoid(const Tensor& x);
/// activation with Activation::tanh
Tensor tanh(const Tensor& x);

/// x^exponent, with the special cases of C's pow. The error is at most 1.3 ULP (ops/simd/power.h). The exponents -1, 0,
/// 1, 2 and 3 are computed by products and quotients. The gradient for the exponent 0 is 0.
Tensor pow(const Tensor& x, double exponent);
/// x^exponent of two real tensors with numpy's broadcasting. The gradient of x is 0 where the exponent is 0. The
/// gradient of the exponent is 0 where x = 0 and the exponent is not negative, and NaN where x < 0.
Tensor pow(const Tensor& x, const Tensor& exponent);
/// The larger of two real tensors, with numpy's broadcasting; NaN if either is NaN. The gradient goes to the larger
/// one, in equal parts to equal ones, and to both if either is NaN.
Tensor maximum(const Tensor& a, const Tensor& b);
/// The smaller one, with the rules of maximum.
Tensor minimum(const Tensor& a, const Tensor& b);
/// min(max(x, low), high); NaN stays NaN. An infinite bound has no effect. If low > high, all elements are high. The
/// gradient is that of the result where low <= x <= high, otherwise 0.
Tensor clamp(const Tensor& x, double low, double high);

/// A mask: 1 where a < b, else 0, with numpy's broadcasting. A mask has dtype i8, the smallest dtype, because there is
/// no dtype for booleans. It has no gradient, and no record. a and b have the same dtype, which is real, bf16 or i64.
/// Comparisons with NaN are false, except for not_equal.
Tensor less(const Tensor& a, const Tensor& b);
/// The same with a number, which is rounded to a's dtype. Error if a is i64 and b is no whole number.
Tensor less(const Tensor& a, double b);
/// a <= b, with the rules of less.
Tensor less_equal(const Tensor& a, const Tensor& b);
Tensor less_equal(const Tensor& a, double b);  ///< with a number
/// a > b, with the rules of less.
Tensor greater(const Tensor& a, const Tensor& b);
Tensor greater(const Tensor& a, double b);  ///< with a number
/// a >= b, with the rules of less.
Tensor greater_equal(const Tensor& a, const Tensor& b);
Tensor greater_equal(const Tensor& a, double b);  ///< with a number
/// a = b, with the rules of less.
Tensor equal(const Tensor& a, const Tensor& b);
Tensor equal(const Tensor& a, double b);  ///< with a number
/// a ≠ b, with the rules of less.
Tensor not_equal(const Tensor& a, const Tensor& b);
Tensor not_equal(const Tensor& a, double b);  ///< with a number
/// a where the mask is not 0, otherwise b. The mask has dtype i8; a and b have the same dtype, which is real, bf16,
/// complex or i64. All three follow numpy's broadcasting. An element that is not chosen has no effect, even if it is
/// NaN: its gradient is 0.
Tensor where(const Tensor& mask, const Tensor& a, const Tensor& b);
Tensor where(const Tensor& mask, const Tensor& a, double b);  ///< with a number, which is rounded to a's dtype
Tensor where(const Tensor& mask, double a, const Tensor& b);  ///< with a number, which is rounded to b's dtype

/// real + i · imag. Both have the same shape and real dtype.
Tensor complex(const Tensor& real, const Tensor& imag);
/// The real part of a complex tensor.
Tensor real(const Tensor& x);
/// The imaginary part of a complex tensor.
Tensor imag(const Tensor& x);
/// Re x - i · Im x of a complex tensor.
Tensor conj(const Tensor& x);
/// The angle of a complex tensor, from -π to π; 0 for 0. The gradient at 0 is 0.
Tensor angle(const Tensor& x);

/// Sets element i, in row-major order, to 0 if random.uniform(i) < p, and otherwise multiplies it by 1/(1-p).
/// 0 <= p < 1. Backward needs only the generator.
Tensor dropout(const Tensor& x, double p, const Random& random);

}  // namespace weft
#pragma GCC visibility pop
