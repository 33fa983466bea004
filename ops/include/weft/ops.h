// Every differentiable operation. Each gives a new tensor and leaves its inputs as they were; each throws
// weft::Error, naming itself and the shapes, if its arguments don't fit. "…" stands for any number of axes; negative
// dims count from the end. An undefined Tensor() stands for an argument that is left out.
#pragma once
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "weft/activation.h"
#include "weft/cpu.h"
#include "weft/random.h"
#include "weft/tape.h"
#include "weft/tensor.h"

#pragma GCC visibility push(default)
namespace weft {

// ---- elementwise, with numpy's broadcasting; real or complex, both operands of one dtype ----
Tensor add(const Tensor& a, const Tensor& b);
Tensor sub(const Tensor& a, const Tensor& b);
Tensor mul(const Tensor& a, const Tensor& b);
Tensor div(const Tensor& a, const Tensor& b);  // real only
inline Tensor operator+(const Tensor& a, const Tensor& b) { return add(a, b); }
inline Tensor operator-(const Tensor& a, const Tensor& b) { return sub(a, b); }
inline Tensor operator*(const Tensor& a, const Tensor& b) { return mul(a, b); }
inline Tensor operator/(const Tensor& a, const Tensor& b) { return div(a, b); }
Tensor scale(const Tensor& x, double factor);  // factor · x, real or complex
Tensor exp(const Tensor& x);
Tensor log(const Tensor& x);
Tensor sqrt(const Tensor& x);
Tensor square(const Tensor& x);
Tensor activation(const Tensor& x, Activation function);

// ---- complex tensors ----
Tensor complex(const Tensor& real, const Tensor& imag);
Tensor real(const Tensor& x);
Tensor imag(const Tensor& x);
Tensor conj(const Tensor& x);

// ---- shape ----
Tensor reshape(const Tensor& x, const Shape& shape);                        // one size may be -1
Tensor permute(const Tensor& x, const std::vector<std::int64_t>& dims);     // axis i of y is axis dims[i] of x
Tensor transpose(const Tensor& x, std::int64_t dim0, std::int64_t dim1);
Tensor slice(const Tensor& x, std::int64_t dim, std::int64_t start, std::int64_t stop, std::int64_t step = 1);
std::vector<Tensor> chunk(const Tensor& x, std::int64_t chunks, std::int64_t dim);  // equal pieces; views
Tensor concat(const std::vector<Tensor>& parts, std::int64_t dim);
Tensor expand(const Tensor& x, const Shape& shape);                         // numpy.broadcast_to, a view
Tensor flip(const Tensor& x, std::int64_t dim);
Tensor cast(const Tensor& x, DType dtype);                                  // between f32 and f64

// ---- reductions; dims left empty: all axes ----
Tensor sum(const Tensor& x, const std::vector<std::int64_t>& dims = {}, bool keepdim = false);   // real or complex
Tensor mean(const Tensor& x, const std::vector<std::int64_t>& dims = {}, bool keepdim = false);
Tensor max(const Tensor& x, std::int64_t dim, bool keepdim = false);        // the gradient goes to the first maximum

// ---- dense products ----
// numpy.matmul: a (…, m, k) or (k), b (…, k, n) or (k).
Tensor matmul(const Tensor& a, const Tensor& b);

/// What `linear` does with x Wᵀ + b while the tile is in cache: y = residual + gate ⊙ act(x Wᵀ + b).
struct Epilogue {
  Epilogue() = default;
  /// An activation alone is an Epilogue, too: linear(x, weight, bias, Activation::gelu).
  Epilogue(Activation function, Tensor gate_of_y = {}, Tensor residual_of_y = {})
      : activation(function), gate(std::move(gate_of_y)), residual(std::move(residual_of_y)) {}
  /// residual + x Wᵀ + b; an undefined one adds nothing.
  static Epilogue adding(Tensor residual) { return {Activation::none, {}, std::move(residual)}; }

  Activation activation = Activation::none;  ///< of x Wᵀ + b
  Tensor gate;      ///< y's shape, or undefined
  Tensor residual;  ///< y's shape, or undefined
};
// x (…, in), weight (out, in), bias (out) or undefined: y (…, out).
Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias = {}, const Epilogue& epilogue = {});

// linear's weight (out, in), f32 or f64, with a copy in the order in which products of many rows read it: inference that
// keeps it doesn't rearrange the weight at each call. The weight is a constant here: it gets no gradient. The copy serves
// the instruction set of the context in which it was made; under another the weight itself is used.
class PackedWeight {
 public:
  explicit PackedWeight(const Tensor& weight);
  const Tensor& weight() const noexcept { return weight_; }
  Isa isa() const noexcept { return isa_; }
  bool is_current() const { return weight_.version() == version_; }  // false if the weight was written since

 private:
  friend Tensor packed_linear(const Tensor& x, const PackedWeight& weight, const Tensor& bias, const Epilogue& epilogue);

  Tensor weight_, panels_;  // the panels in one flat tensor
  std::uint64_t version_;
  Isa isa_;
};

// linear's values. Error if the weight was written after it was packed.
Tensor packed_linear(const Tensor& x, const PackedWeight& weight, const Tensor& bias = {}, const Epilogue& epilogue = {});

// gMLP's spatial gating (arXiv 2105.08050). gate, x (n, b, d), weight (n, n), bias (n):
// y_i = gate_i ⊙ (Σ_j weight_ij x_j + bias_i), (n, b, d); causal: the sum over j <= i, whatever the rest of the weight
// holds. Then half of the products are left out, but for some beside the diagonal: their weight counts as 0, so that
// x_j, if it is not finite, may reach y_i of some i < j.
Tensor spatial_gate(const Tensor& gate, const Tensor& x, const Tensor& weight, const Tensor& bias, bool causal = false);

// numpy's einsum, its whole syntax; a size of 1 broadcasts against n. Real or complex.
Tensor einsum(const std::string& equation, const std::vector<Tensor>& operands);

// ---- norms ----
// Over the last `axes` axes, whose shape weight and bias have (or undefined): (x - mean) / sqrt(var + eps) · weight + bias.
// Of x + residual, of x's shape, if that is defined: in one pass.
Tensor layer_norm(const Tensor& x, std::int64_t axes, const Tensor& weight, const Tensor& bias, double eps = 1e-5,
                  const Tensor& residual = {});
// SimpleRMSNorm over the last axis, of d elements: x / (‖x‖₂/√d + eps), times weight (d) if defined.
// Of x + residual as above.
Tensor rms_norm(const Tensor& x, const Tensor& weight = {}, double eps = 1e-8, const Tensor& residual = {});

// ---- softmax, losses ----
Tensor softmax(const Tensor& x, std::int64_t dim);
Tensor log_softmax(const Tensor& x, std::int64_t dim);
// logits (…, c), target (…) i64: the mean of -log softmax(logits)[target] over targets that are not ignore_index.
// Error if a target is outside 0 … c-1. NaN if every target is ignored.
Tensor cross_entropy(const Tensor& logits, const Tensor& target, std::int64_t ignore_index = -100);

// ---- embedding, dropout ----
// indices (…) i64, weight (v, d): y (…, d).
Tensor embedding(const Tensor& indices, const Tensor& weight);
// Element i is dropped if random.uniform(i) < p, the others are scaled by 1/(1-p); 0 <= p < 1. Nothing but the
// generator is kept for backward.
Tensor dropout(const Tensor& x, double p, const Random& random);

// ---- Fourier transforms along one axis, of any length n >= 1; f32 <-> c64, f64 <-> c128 ----
enum class FftNorm { backward, ortho, forward };
Tensor fft(const Tensor& x, std::int64_t dim = -1, FftNorm norm = FftNorm::backward);   // real or complex x
Tensor ifft(const Tensor& x, std::int64_t dim = -1, FftNorm norm = FftNorm::backward);
Tensor rfft(const Tensor& x, std::int64_t dim = -1, FftNorm norm = FftNorm::backward);  // n -> n/2+1
// n/2+1 -> n (given, as it may be odd). The imaginary parts of bin 0 and, n even, of bin n/2 are ignored.
Tensor irfft(const Tensor& x, std::int64_t n, std::int64_t dim = -1, FftNorm norm = FftNorm::backward);
// Two-dimensional: `real` transforms halve the second axis.
Tensor fft2(const Tensor& x, std::int64_t dim0, std::int64_t dim1, FftNorm norm = FftNorm::backward);
Tensor ifft2(const Tensor& x, std::int64_t dim0, std::int64_t dim1, FftNorm norm = FftNorm::backward);
Tensor rfft2(const Tensor& x, std::int64_t dim0, std::int64_t dim1, FftNorm norm = FftNorm::backward);
Tensor irfft2(const Tensor& x, std::int64_t n, std::int64_t dim0, std::int64_t dim1, FftNorm norm = FftNorm::backward);
// Re(FFT over sequence_dim (FFT over hidden_dim)), unnormalised, x real. Its backward is itself.
Tensor fourier_mix(const Tensor& x, std::int64_t sequence_dim, std::int64_t hidden_dim);

// ---- Toeplitz and circulant products ----
// naive: by the definition; matrix: a dense product with T as a matrix; ring: by transforms, in a ring of polynomials.
enum class ToeplitzForm { automatic, naive, matrix, ring };
// x (b, h, n, d). Bidirectional: t (h, 2n-1, d) = t_-(n-1) … t_(n-1), y_i = sum_j t_(i-j) x_j.
// Causal: t (h, n, d) = t_0 … t_(n-1), the sum over j <= i.
// The ring form's errors, also where exact sums would be 0, are below 8 u ‖t‖₂ ‖x‖₂ of a channel (u = 2^-24 in f32,
// 2^-53 in f64); the naive form is exactly causal, the matrix form for finite x. `automatic` takes the naive or the ring
// form, by the cost for these sizes (b, too).
Tensor toeplitz_product(const Tensor& x, const Tensor& t, bool causal, ToeplitzForm form = ToeplitzForm::automatic);
// The form that `automatic` takes for these sizes.
ToeplitzForm toeplitz_form(std::int64_t b, std::int64_t h, std::int64_t n, std::int64_t d, bool causal);
// Coefficients for many products, with their spectra if the ring form is taken; `b` is the batch to choose it for.
class ToeplitzCoefficients {
 public:
  ToeplitzCoefficients(const Tensor& t, bool causal, std::int64_t b = 1, ToeplitzForm form = ToeplitzForm::automatic);
  friend Tensor toeplitz_product(const Tensor& x, const ToeplitzCoefficients& c);  // Error if t was written since

 private:
  Tensor t_, spectra_;
  bool causal_;
  ToeplitzForm form_;
  std::uint64_t version_ = 0;
};
Tensor toeplitz_product(const Tensor& x, const ToeplitzCoefficients& c);
// x (b, n, d), c (n, d): y_i = sum_j c_((i-j) mod n) x_j.
Tensor circulant_product(const Tensor& x, const Tensor& c);

}  // namespace weft
#pragma GCC visibility pop
