/// \file
/// Elementwise functions (see weft/ops.h for the rules of all operations).
#pragma once
#include "weft/activation.h"
#include "weft/random.h"
#include "weft/tensor.h"
#include "weft/visibility.h"

WEFT_PUBLIC_BEGIN
namespace weft {

/// a + b with numpy's broadcasting. The operands are both real or both complex, and have the same dtype.
Tensor add(const Tensor& a, const Tensor& b);
/// a - b, with the rules of add.
Tensor sub(const Tensor& a, const Tensor& b);
/// a · b, with the rules of add.
Tensor mul(const Tensor& a, const Tensor& b);
/// a / b, with the rules of add.
Tensor div(const Tensor& a, const Tensor& b);
/// The same as add.
inline Tensor operator+(const Tensor& a, const Tensor& b) { return add(a, b); }
/// The same as sub.
inline Tensor operator-(const Tensor& a, const Tensor& b) { return sub(a, b); }
/// The same as mul.
inline Tensor operator*(const Tensor& a, const Tensor& b) { return mul(a, b); }
/// The same as div.
inline Tensor operator/(const Tensor& a, const Tensor& b) { return div(a, b); }
/// factor · x, for a real or complex x.
Tensor scale(const Tensor& x, double factor);
/// -x, for a real or complex x.
Tensor neg(const Tensor& x);
/// x + c, for a real or complex x. All operators with a number c compute in x's dtype, or in f32 if x is bf16.
Tensor operator+(const Tensor& x, double c);
/// c + x
inline Tensor operator+(double c, const Tensor& x) { return x + c; }
/// The same as neg.
inline Tensor operator-(const Tensor& x) { return neg(x); }
/// x - c
inline Tensor operator-(const Tensor& x, double c) { return x + -c; }
/// c - x
inline Tensor operator-(double c, const Tensor& x) { return neg(x) + c; }
/// The same as scale.
inline Tensor operator*(const Tensor& x, double factor) { return scale(x, factor); }
/// The same as scale.
inline Tensor operator*(double factor, const Tensor& x) { return scale(x, factor); }
/// x / c, for a real or complex x. Each element is divided by c (not multiplied by 1/c), so it is rounded only once.
Tensor operator/(const Tensor& x, double c);
/// c / x, for a real or complex x.
Tensor operator/(double c, const Tensor& x);

/// e^x. Unless stated otherwise, this function and the following ones take real tensors.
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
/// |x|. Here x may also be complex; the result is then real. The gradient at 0 is 0.
Tensor abs(const Tensor& x);
/// The sign of x: -1, 0 or 1. The sign of NaN is 0. The gradient is 0.
Tensor sign(const Tensor& x);
/// The sine of an angle in radians. The error is at most 0.9 ULP for any finite angle (ops/simd/trigonometry.h).
Tensor sin(const Tensor& x);
/// The cosine, with the rules of sin.
Tensor cos(const Tensor& x);
/// The error function: 2/√π ∫ e^(-t²) dt from 0 to x.
Tensor erf(const Tensor& x);
/// ln(1 + e^x), computed without overflow for any x.
Tensor softplus(const Tensor& x);
/// Applies the given activation function to each element.
Tensor activation(const Tensor& x, Activation function);
/// The activation relu: max(x, 0).
Tensor relu(const Tensor& x);
/// The activation gelu: xΦ(x).
Tensor gelu(const Tensor& x);
/// The activation silu: x · sigmoid(x).
Tensor silu(const Tensor& x);
/// The activation sigmoid: 1 / (1 + e^-x).
Tensor sigmoid(const Tensor& x);
/// The activation tanh: the hyperbolic tangent.
Tensor tanh(const Tensor& x);

/// x^exponent, with the special cases of C's pow. The error is at most 1.3 ULP (ops/simd/power.h). For the exponents
/// -1, 0, 1, 2 and 3, pow uses products and quotients. For the exponent 0, the gradient is 0.
Tensor pow(const Tensor& x, double exponent);
/// x^exponent of two real tensors, with numpy's broadcasting. The gradient with respect to x is 0 where the exponent is
/// 0. The gradient with respect to the exponent is 0 where x = 0 and the exponent is not negative. It is NaN where x <
/// 0.
Tensor pow(const Tensor& x, const Tensor& exponent);
/// The larger element of two real tensors, with numpy's broadcasting. The result is NaN if either element is NaN. The
/// larger element receives the gradient. If both elements are equal, each receives half of the gradient. If either is
/// NaN, both receive the full gradient.
Tensor maximum(const Tensor& a, const Tensor& b);
/// The smaller element of two real tensors, with the rules of maximum.
Tensor minimum(const Tensor& a, const Tensor& b);
/// min(max(x, low), high). NaN stays NaN. An infinite bound has no effect. If low > high, all elements become high. The
/// gradient with respect to x is that of the result where low <= x <= high, and 0 elsewhere. Error if a bound is NaN.
Tensor clamp(const Tensor& x, double low, double high);

/// A mask that is 1 where a < b and 0 elsewhere, with numpy's broadcasting. Masks have dtype i8, because there is no
/// dtype for booleans. They have no gradient, and tapes do not record comparisons. a and b have the same dtype, which
/// is real, bf16 or i64. Comparisons with NaN are false, except for not_equal.
Tensor less(const Tensor& a, const Tensor& b);
/// Like the function above, but for a number b, which is rounded to a's dtype. Error if a is i64 and b is not a whole
/// number.
Tensor less(const Tensor& a, double b);
/// a <= b, with the rules of less.
Tensor less_equal(const Tensor& a, const Tensor& b);
Tensor less_equal(const Tensor& a, double b);  ///< the same for a number b
/// a > b, with the rules of less.
Tensor greater(const Tensor& a, const Tensor& b);
Tensor greater(const Tensor& a, double b);  ///< the same for a number b
/// a >= b, with the rules of less.
Tensor greater_equal(const Tensor& a, const Tensor& b);
Tensor greater_equal(const Tensor& a, double b);  ///< the same for a number b
/// a = b, with the rules of less.
Tensor equal(const Tensor& a, const Tensor& b);
Tensor equal(const Tensor& a, double b);  ///< the same for a number b
/// a ≠ b, with the rules of less.
Tensor not_equal(const Tensor& a, const Tensor& b);
Tensor not_equal(const Tensor& a, double b);  ///< the same for a number b
/// The element of a where the mask is not 0, otherwise the element of b. The mask has dtype i8. a and b have the same
/// dtype, which is real, bf16, complex or i64. numpy's broadcasting applies to all three. An element that is not
/// selected has no effect, even if it is NaN, and its gradient is 0.
Tensor where(const Tensor& mask, const Tensor& a, const Tensor& b);
Tensor where(const Tensor& mask, const Tensor& a,
             double b);  ///< the same for a number b, which is converted to a's dtype
Tensor where(const Tensor& mask, double a,
             const Tensor& b);  ///< the same for a number a, which is converted to b's dtype

/// The complex tensor real + i · imag. real and imag have the same shape and the same dtype, f32 or f64.
Tensor complex(const Tensor& real, const Tensor& imag);
/// The real part of a complex tensor.
Tensor real(const Tensor& x);
/// The imaginary part of a complex tensor.
Tensor imag(const Tensor& x);
/// The complex conjugate of a complex tensor: Re x - i · Im x.
Tensor conj(const Tensor& x);
/// The angle of a complex tensor in radians, from -π to π. The angle of 0 is 0, and its gradient there is 0.
Tensor angle(const Tensor& x);

/// Sets element i (in row-major order) to 0 if random.uniform(i) < p, and otherwise multiplies it by 1/(1-p). Error
/// unless 0 <= p < 1. The backward pass needs only the generator, so no mask is saved.
Tensor dropout(const Tensor& x, double p, const Random& random);

}  // namespace weft
WEFT_PUBLIC_END
