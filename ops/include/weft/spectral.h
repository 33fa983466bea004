/// \file
/// Fourier transforms, and products with Toeplitz and circulant matrices (see weft/ops.h for the rules of all
/// operations).
#pragma once
#include <cstdint>

#include "weft/tensor.h"
#include "weft/visibility.h"

WEFT_PUBLIC_BEGIN
namespace weft {

/// The normalization of a transform of length n and of its inverse.
enum class FftNorm {
  backward,  ///< the inverse is divided by n
  ortho,     ///< the transform and its inverse are each divided by √n
  forward,   ///< the transform is divided by n
};
/// The discrete Fourier transform y_k = Σ_j x_j exp(-2πi jk/n) along one axis, of any length n >= 1. x is real or
/// complex. y is complex: c64 for an x of dtype f32 or c64, and c128 for f64 or c128.
Tensor fft(const Tensor& x, std::int64_t dim = -1, FftNorm norm = FftNorm::backward);
/// The inverse of fft.
Tensor ifft(const Tensor& x, std::int64_t dim = -1, FftNorm norm = FftNorm::backward);
/// The first n/2 + 1 elements (n/2 rounded down) of fft for a real x. The other elements are the complex conjugates of
/// these.
Tensor rfft(const Tensor& x, std::int64_t dim = -1, FftNorm norm = FftNorm::backward);
/// The inverse of rfft: n/2 + 1 complex elements -> n real elements. The size of x does not determine whether n is even
/// or odd, so the caller must pass n. The imaginary parts of element 0 and, for even n, of element n/2 are ignored.
Tensor irfft(const Tensor& x, std::int64_t n, std::int64_t dim = -1, FftNorm norm = FftNorm::backward);
/// The two-dimensional transform: fft along both axes.
Tensor fft2(const Tensor& x, std::int64_t dim0, std::int64_t dim1, FftNorm norm = FftNorm::backward);
/// The inverse of fft2.
Tensor ifft2(const Tensor& x, std::int64_t dim0, std::int64_t dim1, FftNorm norm = FftNorm::backward);
/// The two-dimensional transform of a real x: rfft along dim1, then fft along dim0.
Tensor rfft2(const Tensor& x, std::int64_t dim0, std::int64_t dim1, FftNorm norm = FftNorm::backward);
/// The inverse of rfft2. n is the length of the result along dim1.
Tensor irfft2(const Tensor& x, std::int64_t n, std::int64_t dim0, std::int64_t dim1, FftNorm norm = FftNorm::backward);
/// FNet's mixing (arXiv 2105.03824) of a real x: the real part of the two-dimensional Fourier transform over
/// sequence_dim and hidden_dim, not normalized. The backward pass is the same function.
Tensor fourier_mix(const Tensor& x, std::int64_t sequence_dim, std::int64_t hidden_dim);

/// How a Toeplitz product is computed.
enum class ToeplitzForm {
  automatic,  ///< naive or ring: the form with the lower estimated cost for these sizes
  naive,      ///< the sums of the definition
  matrix,     ///< a matrix product with the Toeplitz matrix T
  ring,       ///< transforms in a ring of polynomials
};
/// TNN's mixing (arXiv 2305.04749, section 3.2): the product of x (b, h, n, d) with a Toeplitz matrix for each channel,
/// y_i = Σ_j t_(i-j) x_j along axis n. t has x's dtype, or f32 if x is bf16.
/// If `causal` is false, t (h, 2n-1, d) contains t_-(n-1) … t_(n-1).
/// If `causal` is true, t (h, n, d) contains t_0 … t_(n-1), and the sum covers only j <= i.
/// The error of the ring form is below 8 u ‖t‖₂ ‖x‖₂, where ‖t‖₂ and ‖x‖₂ are the norms of t and x in the same channel,
/// and u is 2^-24 in f32 and 2^-53 in f64. An error of this size may remain even where the exact sum is 0. Therefore,
/// with the ring form, later elements of x may change y_i by rounding errors even if `causal` is true. With the naive
/// form they never change y_i, and with the matrix form they do not if x is finite.
Tensor toeplitz_product(const Tensor& x, const Tensor& t, bool causal, ToeplitzForm form = ToeplitzForm::automatic);
/// The gradients of toeplitz_product. A gradient that was not requested is undefined.
struct ToeplitzGradients {
  Tensor x;  ///< dx_j = Σ_i t_(i-j) dy_i, in x's dtype
  Tensor t;  ///< dt_l = Σ_b Σ_j dy_(j+l) x_j, in t's dtype
};
/// The gradients of toeplitz_product(x, t, causal, form), for programs that do not use tapes. `gradient` is the
/// gradient dy of the result, with x's shape and dtype. needs_x and needs_t select which gradients to compute. Nothing
/// is recorded.
ToeplitzGradients toeplitz_gradients(const Tensor& x, const Tensor& t, const Tensor& gradient, bool causal,
                                     bool needs_x = true, bool needs_t = true,
                                     ToeplitzForm form = ToeplitzForm::automatic);
/// The form that ToeplitzForm::automatic selects for an x of shape (b, h, n, d).
ToeplitzForm toeplitz_form(std::int64_t b, std::int64_t h, std::int64_t n, std::int64_t d, bool causal);
/// The coefficients t, prepared for many products. If the ring form is used, the constructor computes their spectra.
/// Thread-safe.
class ToeplitzCoefficients {
 public:
  /// t and causal have the same meaning as in toeplitz_product. `b` is the batch size for which ToeplitzForm::automatic
  /// selects the form.
  ToeplitzCoefficients(const Tensor& t, bool causal, std::int64_t b = 1, ToeplitzForm form = ToeplitzForm::automatic);

 private:
  friend Tensor toeplitz_product(const Tensor& x, const ToeplitzCoefficients& c);

  Tensor t_, spectra_;
  bool causal_;
  ToeplitzForm form_;
  std::uint64_t version_ = 0;
};
/// toeplitz_product with prepared coefficients. Error if t was written to after they were prepared.
Tensor toeplitz_product(const Tensor& x, const ToeplitzCoefficients& c);
/// The product of x (b, n, d) with the circulant matrix of c (n, d) for each channel: y_i = Σ_j c_((i-j) mod n) x_j.
/// The dtypes follow the rules of toeplitz_product.
Tensor circulant_product(const Tensor& x, const Tensor& c);

}  // namespace weft
WEFT_PUBLIC_END
