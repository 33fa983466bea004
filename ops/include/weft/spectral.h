/// \file
/// Fourier transforms, Toeplitz and circulant products (see weft/ops.h for the rules of all operations).
#pragma once
#include <cstdint>

#include "weft/tensor.h"

#pragma GCC visibility push(default)
namespace weft {

/// The normalization of a transform and its inverse.
enum class FftNorm {
  backward,  ///< the inverse is divided by n
  ortho,     ///< both are divided by √n
  forward,   ///< the transform is divided by n
};
/// y_k = Σ_j x_j exp(-2πi jk/n) along one axis, of any length n >= 1. x is real or complex, y is complex: f32 -> c64,
/// f64 -> c128.
Tensor fft(const Tensor& x, std::int64_t dim = -1, FftNorm norm = FftNorm::backward);
/// The inverse of fft.
Tensor ifft(const Tensor& x, std::int64_t dim = -1, FftNorm norm = FftNorm::backward);
/// The first n/2 + 1 elements of fft for a real x.
Tensor rfft(const Tensor& x, std::int64_t dim = -1, FftNorm norm = FftNorm::backward);
/// The inverse of rfft: n/2 + 1 elements -> n elements. n must be given, as it may be odd. The imaginary parts of bin 0
/// and, for even n, of bin n/2 are ignored.
Tensor irfft(const Tensor& x, std::int64_t n, std::int64_t dim = -1, FftNorm norm = FftNorm::backward);
/// fft along both axes.
Tensor fft2(const Tensor& x, std::int64_t dim0, std::int64_t dim1, FftNorm norm = FftNorm::backward);
/// The inverse of fft2.
Tensor ifft2(const Tensor& x, std::int64_t dim0, std::int64_t dim1, FftNorm norm = FftNorm::backward);
/// fft along dim0 after rfft along dim1.
Tensor rfft2(const Tensor& x, std::int64_t dim0, std::int64_t dim1, FftNorm norm = FftNorm::backward);
/// The inverse of rfft2; n is the length along dim1.
Tensor irfft2(const Tensor& x, std::int64_t n, std::int64_t dim0, std::int64_t dim1, FftNorm norm = FftNorm::backward);
/// Re(FFT over sequence_dim (FFT over hidden_dim)), not normalized, x real: FNet's mixing, arXiv 2105.03824. It is its
/// own backward.
Tensor fourier_mix(const Tensor& x, std::int64_t sequence_dim, std::int64_t hidden_dim);

/// How a Toeplitz product is computed.
enum class ToeplitzForm {
  automatic,  ///< naive or ring, by a cost model for the sizes
  naive,      ///< by the definition
  matrix,     ///< a dense product with T as a matrix
  ring,       ///< by transforms in a ring of polynomials
};
/// x (b, h, n, d). t has x's dtype, or f32 if x is bf16.
/// Bidirectional: t (h, 2n-1, d) = t_-(n-1) … t_(n-1), y_i = Σ_j t_(i-j) x_j.
/// Causal: t (h, n, d) = t_0 … t_(n-1), and the sum covers j <= i. This is TNN's mixing, arXiv 2305.04749, section 3.2.
/// The errors of the ring form are below 8 u ‖t‖₂ ‖x‖₂ of a channel (u = 2^-24 in f32, 2^-53 in f64), even where the
/// exact sum is 0. The naive form is exactly causal; the matrix form is exactly causal for finite x.
Tensor toeplitz_product(const Tensor& x, const Tensor& t, bool causal, ToeplitzForm form = ToeplitzForm::automatic);
/// The gradients of a toeplitz_product; undefined if they were not requested.
struct ToeplitzGradients {
  Tensor x;  ///< dx_j = Σ_i t_(i-j) dy_i, in x's dtype
  Tensor t;  ///< dt_l = Σ_b Σ_j dy_(j+l) x_j, in t's dtype
};
/// The gradients of toeplitz_product(x, t, causal, form), for programs with their own differentiation. `gradient` is
/// dy, with x's shape and dtype. Nothing is recorded.
ToeplitzGradients toeplitz_gradients(const Tensor& x, const Tensor& t, const Tensor& gradient, bool causal,
                                     bool needs_x = true, bool needs_t = true,
                                     ToeplitzForm form = ToeplitzForm::automatic);
/// The form that `automatic` selects for these sizes.
ToeplitzForm toeplitz_form(std::int64_t b, std::int64_t h, std::int64_t n, std::int64_t d, bool causal);
/// Coefficients for many products, with their spectra if the ring form is selected. Thread-safe.
class ToeplitzCoefficients {
 public:
  /// t and causal as in toeplitz_product. `b` is the batch size for which the form is selected.
  ToeplitzCoefficients(const Tensor& t, bool causal, std::int64_t b = 1, ToeplitzForm form = ToeplitzForm::automatic);

 private:
  friend Tensor toeplitz_product(const Tensor& x, const ToeplitzCoefficients& c);

  Tensor t_, spectra_;
  bool causal_;
  ToeplitzForm form_;
  std::uint64_t version_ = 0;
};
/// The product with prepared coefficients. Error if t was written since.
Tensor toeplitz_product(const Tensor& x, const ToeplitzCoefficients& c);
/// x (b, n, d), c (n, d): y_i = Σ_j c_((i-j) mod n) x_j. The dtypes follow the rules of toeplitz_product.
Tensor circulant_product(const Tensor& x, const Tensor& c);

}  // namespace weft
#pragma GCC visibility pop
