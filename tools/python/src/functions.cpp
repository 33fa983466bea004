// Defines the operations of weft.ops. Each tensor argument may be a Tensor, a Parameter or an array.
#include <nanobind/nanobind.h>
#include <weft/ops.h>

#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "arguments.h"
#include "bindings.h"
#include "tensors.h"

namespace weft::python {
namespace {

namespace nb = nanobind;

using namespace nb::literals;
using std::int64_t;

struct Named {
  const char *name, *meaning;
  Tensor (*function)(const Tensor&);
};
constexpr Named unary[] = {
    {"abs", "|x|", abs},
    {"exp", "e^x", exp},
    {"expm1", "e^x - 1, accurate near 0", expm1},
    {"log", "The natural logarithm.", log},
    {"log1p", "log(1 + x), accurate near 0", log1p},
    {"sqrt", "The square root.", sqrt},
    {"rsqrt", "1 / √x", rsqrt},
    {"square", "x²", square},
    {"sign", "-1, 0 or 1", sign},
    {"reciprocal", "1 / x", reciprocal},
    {"sin", "The sine of x radians.", sin},
    {"cos", "The cosine of x radians.", cos},
    {"erf", "The error function.", erf},
    {"softplus", "log(1 + e^x)", softplus},
    {"relu", "max(x, 0)", relu},
    {"gelu", "x · Φ(x), where Φ is the standard normal distribution function", gelu},
    {"silu", "x · sigmoid(x)", silu},
    {"sigmoid", "1 / (1 + e^-x)", sigmoid},
    {"tanh", "The hyperbolic tangent.", tanh},
    {"real", "The real part of a complex tensor.", real},
    {"imag", "The imaginary part of a complex tensor.", imag},
    {"conj", "The complex conjugate.", conj},
    {"angle", "The angle of each complex number, in radians.", angle},
};

struct NamedBinary {
  const char *name, *meaning;
  Tensor (*function)(const Tensor&, const Tensor&);
};
constexpr NamedBinary binary[] = {
    {"add", "a + b", add},
    {"sub", "a - b", sub},
    {"mul", "a · b, element by element", mul},
    {"div", "a / b", div},
    {"pow", "a^b", pow},
    {"maximum", "The larger of a and b, element by element.", maximum},
    {"minimum", "The smaller of a and b, element by element.", minimum},
    {"less", "1 where a < b, otherwise 0: a mask", less},
    {"less_equal", "1 where a <= b, otherwise 0: a mask", less_equal},
    {"greater", "1 where a > b, otherwise 0: a mask", greater},
    {"greater_equal", "1 where a >= b, otherwise 0: a mask", greater_equal},
    {"equal", "1 where a = b, otherwise 0: a mask", equal},
    {"not_equal", "1 where a != b, otherwise 0: a mask", not_equal},
    {"matmul", "The matrix product: (…, m, k), (…, k, n) -> (…, m, n)", matmul},
    {"complex", "a + b i", complex},
};

// Converts an operand to a tensor. A number gets the dtype of the other operand.
Tensor operand_like(nb::handle x, const Tensor& other) {
  const auto number = number_of(x);
  if (!number) return operand(x);
  if (other.dtype() == DType::i64 && std::trunc(*number) != *number)
    throw nb::value_error(
        ("expected a whole number as the other operand of an i64 tensor, got " + std::to_string(*number)).c_str());
  return Tensor::scalar(*number, other.dtype());
}

// Converts both operands to tensors. One of them may be a number.
std::pair<Tensor, Tensor> operands(nb::handle a, nb::handle b) {
  if (number_of(a)) {
    const Tensor y = operand(b);
    return {operand_like(a, y), y};
  }
  const Tensor x = operand(a);
  return promoted(x, operand_like(b, x));
}

// Defines a Python operation that converts its arguments (arguments.h) and calls f.
template <class F, class... Names>
void define(nb::module_& m, const char* name, const char* meaning, F f, const Names&... names) {
  m.def(name, converting(f), meaning, names...);
}

// Applies f along an axis, or over all elements.
template <Tensor (*f)(const Tensor&, int64_t, bool)>
Tensor along(const Tensor& x, std::optional<int64_t> axis, bool keepdims) {
  if (axis) return f(x, *axis, keepdims);
  const Tensor all = f(reshape(x, {-1}), 0, false);
  return keepdims ? reshape(all, Shape(static_cast<std::size_t>(x.rank()), 1)) : all;
}

// Converts integers, such as masks, to f64, for sums and means.
Tensor as_numbers(const Tensor& x) { return x.defined() && is_integer(x.dtype()) ? cast(x, DType::f64) : x; }

void add_elementwise(nb::module_& m) {
  for (const Named& op : unary) define(m, op.name, op.meaning, op.function, "x"_a);
  for (const NamedBinary& op : binary)
    m.def(
        op.name,
        [f = op.function](nb::handle a, nb::handle b) {
          const auto [x, y] = operands(a, b);
          return unlocked([&, &x = x, &y = y] { return f(x, y); });
        },
        op.meaning, "a"_a, "b"_a);
  m.def(
      "where",
      [](nb::handle mask, nb::handle a, nb::handle b) {
        const Tensor chosen = operand(mask);
        const auto [x, y] = operands(a, b);
        return unlocked([&, &x = x, &y = y] { return where(chosen, x, y); });
      },
      "a where the mask is not 0, and b where it is 0.", "mask"_a, "a"_a, "b"_a);
  define(m, "circulant_product",
         "The product with the circulant matrix of each channel: y_i = Σ_j c_((i-j) mod n) x_j; x (b, n, d), c (n, d).",
         circulant_product, "x"_a, "c"_a);
  define(m, "clamp", "x limited to the range from low to high.", clamp, "x"_a, "low"_a, "high"_a);
  define(m, "dropout", "Each element is 0 with probability p, and x / (1 - p) otherwise.", dropout, "x"_a, "p"_a,
         "random"_a);
  define(m, "cast", "x converted to another dtype: f32, f64 or bf16. Integers can also be converted to i64.", cast,
         "x"_a, "dtype"_a);
}

void add_arrangements(nb::module_& m) {
  define(m, "reshape", "The same elements in another shape. One size may be -1 and is then computed.", reshape, "x"_a,
         "shape"_a);
  define(m, "permute", "Axis i of the result is axis axes[i] of x.", permute, "x"_a, "axes"_a);
  define(m, "transpose", "x with two axes exchanged.", transpose, "x"_a, "axis0"_a, "axis1"_a);
  define(m, "expand", "x repeated along axes of size 1.", expand, "x"_a, "shape"_a);
  define(m, "flip", "x in reverse order along an axis.", flip, "x"_a, "axis"_a);
  define(m, "squeeze", "x without an axis of size 1.", squeeze, "x"_a, "axis"_a);
  define(m, "unsqueeze", "x with a new axis of size 1.", unsqueeze, "x"_a, "axis"_a);
  define(m, "concat", "The parts, joined along an axis.", concat, "parts"_a, "axis"_a = 0);
  define(m, "stack", "The parts, joined along a new axis.", stack, "parts"_a, "axis"_a = 0);
  define(m, "chunk", "x divided into parts of the same size along an axis.", chunk, "x"_a, "chunks"_a, "axis"_a = 0);
  define(m, "split", "x divided into parts of these sizes along an axis.", split, "x"_a, "sizes"_a, "axis"_a = 0);
  define(m, "roll",
         "x shifted by `shift` elements along an axis. Elements shifted beyond one end reappear at the other.", roll,
         "x"_a, "shift"_a, "axis"_a);
  define(m, "pad",
         "x padded with `value`. widths[i] = (before, after) is the number of elements added at each end of axis i.",
         pad, "x"_a, "widths"_a, "value"_a = 0.0);
  define(m, "tril", "The lower triangle; 0 elsewhere.", tril, "x"_a, "diagonal"_a = 0);
  define(m, "triu", "The upper triangle; 0 elsewhere.", triu, "x"_a, "diagonal"_a = 0);
  define(m, "arange", "The numbers start, start + step, …, without stop.", arange, "start"_a, "stop"_a, "step"_a = 1.0,
         "dtype"_a = "i64");
  define(m, "one_hot", "1 at the given index and 0 elsewhere: (…) -> (…, classes).", one_hot, "indices"_a, "classes"_a,
         "dtype"_a = "f32");
  define(m, "index_select", "The elements at these indices (k) along an axis.", index_select, "x"_a, "axis"_a,
         "indices"_a);
  define(m, "gather",
         "For each element of index, the element of x with this index along the axis and the same position along "
         "the other axes.",
         gather, "x"_a, "axis"_a, "index"_a);
  define(m, "scatter_add", "x with each element of source added at the position that index gives along the axis.",
         scatter_add, "x"_a, "axis"_a, "index"_a, "source"_a);
}

void add_reductions(nb::module_& m) {
  define(
      m, "sum", "The sum over the given axes; None: over all axes. Integers are converted to f64.",
      [](const Tensor& x, const Axes& axes, bool keepdims) { return sum(as_numbers(x), axes.all, keepdims); }, "x"_a,
      "axis"_a = nb::none(), "keepdims"_a = false);
  define(
      m, "mean", "The mean over the given axes; None: over all axes. Integers are converted to f64.",
      [](const Tensor& x, const Axes& axes, bool keepdims) { return mean(as_numbers(x), axes.all, keepdims); }, "x"_a,
      "axis"_a = nb::none(), "keepdims"_a = false);
  define(
      m, "norm", "The p-norm over the given axes; None: over all axes.",
      [](const Tensor& x, double p, const Axes& axes, bool keepdims) { return norm(x, p, axes.all, keepdims); }, "x"_a,
      "p"_a = 2.0, "axis"_a = nb::none(), "keepdims"_a = false);
  define(
      m, "var",
      "The variance over the given axes; None: over all axes. It divides by n - correction. The default is that of "
      "PyTorch.",
      [](const Tensor& x, const Axes& axes, int64_t correction, bool keepdims) {
        return var(x, axes.all, correction, keepdims);
      },
      "x"_a, "axis"_a = nb::none(), "correction"_a = 1, "keepdims"_a = false);
  define(m, "max", "The largest element along an axis; None: of all elements.", along<max>, "x"_a,
         "axis"_a = nb::none(), "keepdims"_a = false);
  define(m, "min", "The smallest element along an axis; None: of all elements.", along<min>, "x"_a,
         "axis"_a = nb::none(), "keepdims"_a = false);
  define(m, "argmax", "The index of the largest element along an axis; None: of all elements.", along<argmax>, "x"_a,
         "axis"_a = nb::none(), "keepdims"_a = false);
  define(m, "argmin", "The index of the smallest element along an axis; None: of all elements.", along<argmin>, "x"_a,
         "axis"_a = nb::none(), "keepdims"_a = false);
  define(m, "logsumexp", "log Σ e^x along an axis; None: over all elements.", along<logsumexp>, "x"_a,
         "axis"_a = nb::none(), "keepdims"_a = false);
  define(
      m, "topk", "The k largest (or smallest) elements along an axis, in order, and their indices.",
      [](const Tensor& x, int64_t k, int64_t axis, bool largest) {
        TopK found = topk(x, k, axis, largest);
        return std::make_pair(std::move(found.values), std::move(found.indices));
      },
      "x"_a, "k"_a, "axis"_a = -1, "largest"_a = true);
  define(m, "cumsum", "The sums of the first 1, 2, … elements along an axis.", cumsum, "x"_a, "axis"_a);
  define(m, "cumprod", "The products of the first 1, 2, … elements along an axis.", cumprod, "x"_a, "axis"_a);
  define(m, "max_pool1d",
         "The largest element of each window along the last axis. stride: 0 means the size of the window.", max_pool1d,
         "x"_a, "kernel"_a, "stride"_a = 0);
  define(m, "mean_pool1d", "The mean of each window along the last axis. stride: 0 means the size of the window.",
         mean_pool1d, "x"_a, "kernel"_a, "stride"_a = 0);
}

// Softmax, norms, and products.
void add_layer_operations(nb::module_& m) {
  define(m, "softmax", "e^x / Σ e^x along an axis.", softmax, "x"_a, "axis"_a = -1);
  define(m, "log_softmax", "The logarithm of softmax.", log_softmax, "x"_a, "axis"_a = -1);
  define(
      m, "layer_norm", "(x - mean) / √(variance + eps) · weight + bias over the last axis.",
      [](const Tensor& x, const Optional& weight, const Optional& bias, double eps) {
        return layer_norm(x, 1, weight.tensor, bias.tensor, eps);
      },
      "x"_a, "weight"_a = nb::none(), "bias"_a = nb::none(), "eps"_a = 1e-5);
  define(
      m, "rms_norm", "x / (root mean square + eps) · weight over the last axis.",
      [](const Tensor& x, const Optional& weight, double eps) { return rms_norm(x, weight.tensor, eps); }, "x"_a,
      "weight"_a = nb::none(), "eps"_a = 1e-8);
  define(m, "embedding", "The rows of weight (count, d) at these indices: (…) -> (…, d).", embedding, "indices"_a,
         "weight"_a);
  define(
      m, "linear", "x weightᵀ + bias: x (…, in), weight (out, in), bias (out).",
      [](const Tensor& x, const Tensor& weight, const Optional& bias) { return linear(x, weight, bias.tensor); }, "x"_a,
      "weight"_a, "bias"_a = nb::none());
  m.def(
      "einsum",
      [](const std::string& equation, nb::args given) {
        const auto all = Argument<std::vector<Tensor>>::of(given);
        return unlocked([&] { return einsum(equation, all); });
      },
      "Sums of products, described by an equation such as \"bij,jk->bik\".", "equation"_a, "operands"_a);
  define(m, "spatial_gate",
         "gMLP's gate: gate_i · (Σ_j weight_ij x_j + bias_i); gate and x (n, b, d), weight (n, n), bias (n).",
         spatial_gate, "gate"_a, "x"_a, "weight"_a, "bias"_a, "causal"_a = false);
  define(
      m, "conv1d",
      "PyTorch's convolution: x (b, channels, n), weight (out, channels / groups, k). causal: outputs do not depend on "
      "later inputs.",
      [](const Tensor& x, const Tensor& weight, const Optional& bias, int64_t stride, int64_t padding, int64_t dilation,
         int64_t groups, bool causal) {
        return conv1d(x, weight, bias.tensor, {stride, padding, dilation, groups, causal});
      },
      "x"_a, "weight"_a, "bias"_a = nb::none(), "stride"_a = 1, "padding"_a = 0, "dilation"_a = 1, "groups"_a = 1,
      "causal"_a = false);
}

void add_losses(nb::module_& m) {
  define(m, "cross_entropy",
         "The mean of -log softmax(logits)[target] over all targets except ignore_index: logits (…, classes), "
         "target (…) i64.",
         cross_entropy, "logits"_a, "target"_a, "ignore_index"_a = -100);
  define(m, "mse_loss", "(x - target)²; reduction: none, mean, sum or batch_mean.", mse_loss, "x"_a, "target"_a,
         "reduction"_a = "mean");
  define(m, "l1_loss", "|x - target|; reduction: none, mean, sum or batch_mean.", l1_loss, "x"_a, "target"_a,
         "reduction"_a = "mean");
  define(m, "huber_loss",
         "Quadratic for errors up to delta, and linear for larger errors; reduction: none, mean, sum or batch_mean.",
         huber_loss, "x"_a, "target"_a, "delta"_a = 1.0, "reduction"_a = "mean");
  define(m, "binary_cross_entropy_with_logits",
         "-t log σ(x) - (1 - t) log(1 - σ(x)); reduction: none, mean, sum or batch_mean.",
         binary_cross_entropy_with_logits, "logits"_a, "target"_a, "reduction"_a = "mean");
  define(m, "kl_divergence",
         "t (log t - x) for log-probabilities x; reduction: none, mean, sum or batch_mean (divided by the "
         "size of the first axis).",
         kl_divergence, "x"_a, "target"_a, "reduction"_a = "mean", "log_target"_a = false);
}

void add_transforms(nb::module_& m) {
  define(
      m, "fft", "The Fourier transform of a complex tensor along an axis.",
      [](const Tensor& x, int64_t axis) { return fft(x, axis); }, "x"_a, "axis"_a = -1);
  define(
      m, "ifft", "The inverse Fourier transform, divided by n.",
      [](const Tensor& x, int64_t axis) { return ifft(x, axis); }, "x"_a, "axis"_a = -1);
  define(
      m, "rfft", "The Fourier transform of a real tensor: n/2 + 1 complex numbers.",
      [](const Tensor& x, int64_t axis) { return rfft(x, axis); }, "x"_a, "axis"_a = -1);
  define(
      m, "irfft", "The inverse of rfft, with n real numbers.",
      [](const Tensor& x, int64_t n, int64_t axis) { return irfft(x, n, axis); }, "x"_a, "n"_a, "axis"_a = -1);
  define(m, "tensor_fourier_mix", "FNet's mixing: the real part of the Fourier transform along both axes.", fourier_mix,
         "x"_a, "sequence_axis"_a = -2, "hidden_axis"_a = -1);
  define(
      m, "tensor_toeplitz_product",
      "TNN's mixing: y_i = Σ_j t_(i-j) x_j; x (b, h, n, d), t (h, 2n-1, d), or t (h, n, d) if causal.",
      [](const Tensor& x, const Tensor& t, bool causal) { return toeplitz_product(x, t, causal); }, "x"_a, "t"_a,
      "causal"_a = false);
}

}  // namespace

void add_functions(nb::module_& m) {
  m.def(
      "dtype_name", [](nb::handle dtype) { return std::string(dtype_name(dtype_of(dtype))); }, "dtype"_a);
  add_elementwise(m);
  add_arrangements(m);
  add_reductions(m);
  add_layer_operations(m);
  add_losses(m);
  add_transforms(m);
}

}  // namespace weft::python
