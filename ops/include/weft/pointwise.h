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
/// a / b, with the rules of add, but only for real operands.
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

/// e^x. This function and the following ones take real tensors.
Tensor exp(const Tensor& x);
/// The natural logarithm.
Tensor log(const Tensor& x);
/// √x
Tensor sqrt(const Tensor& x);
/// x²
Tensor square(const Tensor& x);
/// function(x)
Tensor activation(const Tensor& x, Activation function);

/// real + i · imag. Both have the same shape and real dtype.
Tensor complex(const Tensor& real, const Tensor& imag);
/// The real part of a complex tensor.
Tensor real(const Tensor& x);
/// The imaginary part of a complex tensor.
Tensor imag(const Tensor& x);
/// Re x - i · Im x of a complex tensor.
Tensor conj(const Tensor& x);

/// Sets element i, in row-major order, to 0 if random.uniform(i) < p, and otherwise multiplies it by 1/(1-p).
/// 0 <= p < 1. Backward needs only the generator.
Tensor dropout(const Tensor& x, double p, const Random& random);

}  // namespace weft
#pragma GCC visibility pop
