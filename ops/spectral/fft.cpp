// fft, ifft, rfft and irfft along one axis and in two dimensions.
#include <cmath>

#include "base/common.h"
#include "spectral/fft_driver.h"
#include "weft/spectral.h"

namespace weft {
using namespace detail;

namespace {

enum class Kind { fft, ifft, rfft, irfft };

// Let e(k) = exp(2πi k/n). All results are multiplied by the norm's factor s:
//   fft:  y_k = Σ_j x_j e(-jk),  ifft: y_k = Σ_j x_j e(jk),  rfft: the bins k <= n/2 of fft for a real x
//   irfft: y_k = Re Σ_(j<=n/2) w_j x_j e(jk), w_0 = 1, w_(n/2) = 1 for n even, else 2; Im x_0 and Im x_(n/2) count as 0
// Gradients dL/dRe + i dL/dIm:
//   fft, ifft: dx_j = s Σ_k dy_k e(±jk), its real part for a real x,  rfft: dx_j = s Re Σ_(k<=n/2) dy_k e(jk)
//   irfft: dx_j = s w_j Σ_k dy_k e(-jk), j <= n/2; the gradient of ignored imaginary parts is 0
struct FftOp : Op {
  Kind kind;
  FftNorm norm;
  std::int64_t dim, n;  // n is used by irfft; the other kinds take it from x
  std::size_t axis = 0;
  bool real_input = false;

  FftOp(Kind k, FftNorm normalization, std::int64_t dimension, std::int64_t length = 0)
      : kind(k), norm(normalization), dim(dimension), n(length) {}

  const char* name() const noexcept override {
    constexpr const char* names[] = {"fft", "ifft", "rfft", "irfft"};
    return names[static_cast<int>(kind)];
  }

  Shape shape(const Inputs& in) const override {
    const Tensor& x = in[0];
    if (kind == Kind::rfft) check_real(name(), x);
    if (!x.defined() || (!is_real(x.dtype()) && !is_complex(x.dtype())))
      fail(name(), "expected an f32, f64, c64 or c128 tensor, got " + describe(x));
    if (kind == Kind::irfft && is_real(x.dtype())) fail(name(), "expected a c64 or c128 tensor, got " + describe(x));
    Shape result = x.shape();
    std::int64_t& size = result[checked_dim(name(), dim, x.rank())];
    if (kind == Kind::irfft && (n < 1 || size != n / 2 + 1))
      fail(name(), "expected n >= 1 and n/2 + 1 elements along axis " + std::to_string(dim) +
                       ", got n = " + std::to_string(n) + " and " + describe(x));
    if (size < 1)
      fail(name(), "expected at least one element along axis " + std::to_string(dim) + ", got " + describe(x));
    size = kind == Kind::irfft ? n : kind == Kind::rfft ? size / 2 + 1 : size;
    (void)numel(result);
    return result;
  }

  Tensor forward(const Inputs& in, const Shape&) override {
    axis = checked_dim(name(), dim, in[0].rank());
    real_input = is_real(in[0].dtype());
    if (kind != Kind::irfft) n = in[0].shape()[axis];
    AxisTransform t = plain(kind == Kind::ifft || kind == Kind::irfft);
    if (kind == Kind::rfft) t.wanted_weight = 1;
    if (kind == Kind::irfft) {
      t.given_weight = 2;
      t.real_out = true;
    }
    return transform_axis(name(), in[0], t);
  }

  bool keeps_input(std::size_t, const std::vector<bool>&) const override { return false; }

  void backward(Backward& b) const override {
    AxisTransform t = plain(kind == Kind::fft || kind == Kind::rfft);
    t.real_out = real_input;
    if (kind == Kind::rfft) t.given_weight = 1;
    if (kind == Kind::irfft) t.wanted_weight = 2;
    b.add(0, transform_axis(name(), b.gradient(), t));
  }

 private:
  AxisTransform plain(bool inverse) const {
    const bool inverse_op = kind == Kind::ifft || kind == Kind::irfft;
    const bool divides = norm == (inverse_op ? FftNorm::backward : FftNorm::forward);
    const auto length = static_cast<double>(n);
    return {n, axis, inverse, norm == FftNorm::ortho ? 1 / std::sqrt(length) : divides ? 1 / length : 1.0};
  }
};

}  // namespace

Tensor fft(const Tensor& x, std::int64_t dim, FftNorm norm) { return apply_op(FftOp(Kind::fft, norm, dim), x); }
Tensor ifft(const Tensor& x, std::int64_t dim, FftNorm norm) { return apply_op(FftOp(Kind::ifft, norm, dim), x); }
Tensor rfft(const Tensor& x, std::int64_t dim, FftNorm norm) { return apply_op(FftOp(Kind::rfft, norm, dim), x); }
Tensor irfft(const Tensor& x, std::int64_t n, std::int64_t dim, FftNorm norm) {
  return apply_op(FftOp(Kind::irfft, norm, dim, n), x);
}

namespace {

void check_two_axes(const char* op, const Tensor& x, std::int64_t dim0, std::int64_t dim1) {
  if (!x.defined()) fail(op, "expected a tensor, got " + describe(x));
  if (checked_dim(op, dim0, x.rank()) == checked_dim(op, dim1, x.rank()))
    fail(op, "expected two different axes, got dimensions " + std::to_string(dim0) + " and " + std::to_string(dim1) +
                 " of " + describe(x));
}

}  // namespace

Tensor fft2(const Tensor& x, std::int64_t dim0, std::int64_t dim1, FftNorm norm) {
  check_two_axes("fft2", x, dim0, dim1);
  return fft(fft(x, dim1, norm), dim0, norm);
}
Tensor ifft2(const Tensor& x, std::int64_t dim0, std::int64_t dim1, FftNorm norm) {
  check_two_axes("ifft2", x, dim0, dim1);
  return ifft(ifft(x, dim1, norm), dim0, norm);
}
Tensor rfft2(const Tensor& x, std::int64_t dim0, std::int64_t dim1, FftNorm norm) {
  check_two_axes("rfft2", x, dim0, dim1);
  return fft(rfft(x, dim1, norm), dim0, norm);
}
Tensor irfft2(const Tensor& x, std::int64_t n, std::int64_t dim0, std::int64_t dim1, FftNorm norm) {
  check_two_axes("irfft2", x, dim0, dim1);
  return irfft(ifft(x, dim0, norm), n, dim1, norm);
}

}  // namespace weft
