/// \file
/// Fourier transforms, Toeplitz and circulant products (weft/ops.h says what holds for all operations).
#pragma once
#include <cstdint>

#include "weft/tensor.h"

#pragma GCC visibility push(default)
namespace weft {

/// Which of a transform and its inverse is divided: by n (backward: the inverse, forward: the other), or both by √n
/// (ortho).
enum class FftNorm {
  backward,  ///< the inverse by n
  ortho,     ///< both by √n
  forward,   ///< the transform by n
};
/// y_k = Σ_j x_j exp(-2πi jk/n) along one axis, of any length n >= 1; x real or complex, y complex: f32 -> c64, f64 ->
/// c128.
Tensor fft(const Tensor& x, std::int64_t dim = -1, FftNorm norm = FftNorm::backward);
/// The inverse of fft.
Tensor ifft(const Tensor& x, std::int64_t dim = -1, FftNorm norm = FftNorm::backward);
/// The first n/2 + 1 elements of fft of a real x.
Tensor rfft(const Tensor& x, std::int64_t dim = -1, FftNorm norm = FftNorm::backward);
/// The inverse of rfft: n/2 + 1 elements -> n, which is given, as it may be odd. The imaginary parts of bin 0 and, n
/// even, of bin n/2 are ignored.
Tensor irfft(const Tensor& x, std::int64_t n, std::int64_t dim = -1, FftNorm norm = FftNorm::backward);
/// fft along both axes.
Tensor fft2(const Tensor& x, std::int64_t dim0, std::int64_t dim1, FftNorm norm = FftNorm::backward);
/// The inverse of fft2.
Tensor ifft2(const Tensor& x, std::int64_t dim0, std::int64_t dim1, FftNorm norm = FftNorm::backward);
/// fft along dim0 of rfft along dim1.
Tensor rfft2(const Tensor& x, std::int64_t dim0, std::int64_t dim1, FftNorm norm = FftNorm::backward);
/// The inverse of rfft2; n is the length along dim1.
Tensor irfft2(const Tensor& x, std::int64_t n, std::int64_t dim0, std::int64_t dim1, FftNorm norm = FftNorm::backward);
/// Re(FFT over sequence_dim (FFT over hidden_dim)), unnormalised, x real: FNet's mixing, arXiv 2105.03824. Its backward
/// is itself.
Tensor fourier_mix(const Tensor& x, std::int64_t sequence_dim, std::int64_t hidden_dim);

/// How a Toeplitz product is computed.
enum class ToeplitzForm {
  automatic,  ///< naive or ring, by the cost for the sizes
  naive,      ///< by the definition
  matrix,     ///< a dense product with T as a matrix
  ring,       ///< by transforms, in a ring of polynomials
};
/// x (b, h, n, d); t is of x's dtype, or f32 if x is bf16. Bidirectional: t (h, 2n-1, d) = t_-(n-1) … t_(n-1), y_i = Σ_j t_(i-j) x_j.
/// Causal: t (h, n, d) = t_0 … t_(n-1), the sum over j <= i. TNN's mixing, arXiv 2305.04749, section 3.2.
/// The ring form's errors, also where exact sums would be 0, are below 8 u ‖t‖₂ ‖x‖₂ of a channel (u = 2^-24 in f32,
/// 2^-53 in f64); the naive form is exactly causal, the matrix form for finite x.
Tensor toeplitz_product(const Tensor& x, const Tensor& t, bool causal, ToeplitzForm form = ToeplitzForm::automatic);
/// The gradients of a toeplitz_product; undefined if not asked for.
struct ToeplitzGradients {
  Tensor x;  ///< dx_j = Σ_i t_(i-j) dy_i, of x's dtype
  Tensor t;  ///< dt_l = Σ_b Σ_j dy_(j+l) x_j, of t's dtype
};
/// What backward gives for toeplitz_product(x, t, causal, form), for programs that differentiate by themselves; `gradient` is dy,
/// of x's shape and dtype. Nothing is recorded.
ToeplitzGradients toeplitz_gradients(const Tensor& x, const Tensor& t, const Tensor& gradient, bool causal,
                                     bool needs_x = true, bool needs_t = true,
                                     ToeplitzForm form = ToeplitzForm::automatic);
/// The form that `automatic` takes for these sizes.
ToeplitzForm toeplitz_form(std::int64_t b, std::int64_t h, std::int64_t n, std::int64_t d, bool causal);
/// Coefficients for many products, with their spectra if the ring form is taken. Threads may share it.
class ToeplitzCoefficients {
 public:
  /// t and causal as in toeplitz_product; `b` is the batch to choose the form for.
  ToeplitzCoefficients(const Tensor& t, bool causal, std::int64_t b = 1, ToeplitzForm form = ToeplitzForm::automatic);

 private:
  friend Tensor toeplitz_product(const Tensor& x, const ToeplitzCoefficients& c);

  Tensor t_, spectra_;
  bool causal_;
  ToeplitzForm form_;
  std::uint64_t version_ = 0;
};
/// The product with coefficients that are kept. Error if t was written since.
Tensor toeplitz_product(const Tensor& x, const ToeplitzCoefficients& c);
/// x (b, n, d), c (n, d), of dtypes as toeplitz_product's: y_i = Σ_j c_((i-j) mod n) x_j.
Tensor circulant_product(const Tensor& x, const Tensor& c);

}  // namespace weft
#pragma GCC visibility pop
