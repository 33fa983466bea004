// The operations on tensors, by the names of weft.ops. Each argument may be a Tensor, a Parameter or an array.
#include <nanobind/nanobind.h>
#include <weft/ops.h>

#include <cmath>
#include <cstdint>
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
  const char* name;
  Tensor (*function)(const Tensor&);
};
constexpr Named unary[] = {
    {"abs", abs},   {"exp", exp},     {"expm1", expm1},     {"log", log},           {"log1p", log1p},
    {"sqrt", sqrt}, {"rsqrt", rsqrt}, {"square", square},   {"sign", sign},         {"reciprocal", reciprocal},
    {"sin", sin},   {"cos", cos},     {"erf", erf},         {"softplus", softplus}, {"relu", relu},
    {"gelu", gelu}, {"silu", silu},   {"sigmoid", sigmoid}, {"tanh", tanh},         {"real", real},
    {"imag", imag}, {"conj", conj},   {"angle", angle}};

struct NamedBinary {
  const char* name;
  Tensor (*function)(const Tensor&, const Tensor&);
};
constexpr NamedBinary binary[] = {{"add", add},
                                  {"sub", sub},
                                  {"mul", mul},
                                  {"div", div},
                                  {"pow", pow},
                                  {"maximum", maximum},
                                  {"minimum", minimum},
                                  {"less", less},
                                  {"less_equal", less_equal},
                                  {"greater", greater},
                                  {"greater_equal", greater_equal},
                                  {"equal", equal},
                                  {"not_equal", not_equal},
                                  {"matmul", matmul},
                                  {"complex", complex},
                                  {"circulant_product", circulant_product}};

// An operand that may be a number, which then has the dtype of the other one.
Tensor operand_like(nb::handle x, const Tensor& other) {
  const auto number = number_of(x);
  if (!number) return operand(x);
  if (other.dtype() == DType::i64 && std::trunc(*number) != *number)
    throw nb::value_error(("expected a whole number beside a tensor of i64, got " + std::to_string(*number)).c_str());
  return Tensor::scalar(*number, other.dtype());
}

// Both operands, of which one may be a number.
std::pair<Tensor, Tensor> operands(nb::handle a, nb::handle b) {
  if (number_of(a)) {
    const Tensor y = operand(b);
    return {operand_like(a, y), y};
  }
  const Tensor x = operand(a);
  return {x, operand_like(b, x)};
}

// Defines an operation of Python that calls f (arguments.h).
template <class F, class... Names>
void define(nb::module_& m, const char* name, F f, const Names&... names) {
  m.def(name, converting(f), names...);
}

void add_elementwise(nb::module_& m) {
  for (const Named& op : unary) define(m, op.name, op.function, "x"_a);
  for (const NamedBinary& op : binary)
    m.def(
        op.name,
        [f = op.function](nb::handle a, nb::handle b) {
          const auto [x, y] = operands(a, b);
          return unlocked([&, &x = x, &y = y] { return f(x, y); });
        },
        "a"_a, "b"_a);
  m.def(
      "where",
      [](nb::handle mask, nb::handle a, nb::handle b) {
        const Tensor chosen = operand(mask);
        const auto [x, y] = operands(a, b);
        return unlocked([&, &x = x, &y = y] { return where(chosen, x, y); });
      },
      "mask"_a, "a"_a, "b"_a);
  define(m, "clamp", clamp, "x"_a, "low"_a, "high"_a);
  define(m, "dropout", dropout, "x"_a, "p"_a, "random"_a);
  define(m, "cast", cast, "x"_a, "dtype"_a);
}

void add_arrangements(nb::module_& m) {
  define(m, "reshape", reshape, "x"_a, "shape"_a);
  define(m, "permute", permute, "x"_a, "axes"_a);
  define(m, "transpose", transpose, "x"_a, "axis0"_a, "axis1"_a);
  define(m, "expand", expand, "x"_a, "shape"_a);
  define(m, "flip", flip, "x"_a, "axis"_a);
  define(m, "squeeze", squeeze, "x"_a, "axis"_a);
  define(m, "unsqueeze", unsqueeze, "x"_a, "axis"_a);
  define(m, "concat", concat, "parts"_a, "axis"_a = 0);
  define(m, "stack", stack, "parts"_a, "axis"_a = 0);
  define(m, "chunk", chunk, "x"_a, "chunks"_a, "axis"_a = 0);
  define(m, "split", split, "x"_a, "sizes"_a, "axis"_a = 0);
  define(m, "roll", roll, "x"_a, "shift"_a, "axis"_a);
  define(m, "pad", pad, "x"_a, "widths"_a, "value"_a = 0.0);
  define(m, "tril", tril, "x"_a, "diagonal"_a = 0);
  define(m, "triu", triu, "x"_a, "diagonal"_a = 0);
  define(m, "arange", arange, "start"_a, "stop"_a, "step"_a = 1.0, "dtype"_a = "i64");
  define(m, "one_hot", one_hot, "indices"_a, "classes"_a, "dtype"_a = "f32");
  define(m, "index_select", index_select, "x"_a, "axis"_a, "indices"_a);
  define(m, "gather", gather, "x"_a, "axis"_a, "index"_a);
  define(m, "scatter_add", scatter_add, "x"_a, "axis"_a, "index"_a, "source"_a);
}

void add_reductions(nb::module_& m) {
  define(
      m, "sum", [](const Tensor& x, const Axes& axes, bool keepdims) { return sum(x, axes.all, keepdims); }, "x"_a,
      "axis"_a = nb::none(), "keepdims"_a = false);
  define(
      m, "mean", [](const Tensor& x, const Axes& axes, bool keepdims) { return mean(x, axes.all, keepdims); }, "x"_a,
      "axis"_a = nb::none(), "keepdims"_a = false);
  define(
      m, "norm",
      [](const Tensor& x, double p, const Axes& axes, bool keepdims) { return norm(x, p, axes.all, keepdims); }, "x"_a,
      "p"_a = 2.0, "axis"_a = nb::none(), "keepdims"_a = false);
  define(
      m, "var",
      [](const Tensor& x, const Axes& axes, int64_t correction, bool keepdims) {
        return var(x, axes.all, correction, keepdims);
      },
      "x"_a, "axis"_a = nb::none(), "correction"_a = 1, "keepdims"_a = false);
  define(m, "max", max, "x"_a, "axis"_a, "keepdims"_a = false);
  define(m, "min", min, "x"_a, "axis"_a, "keepdims"_a = false);
  define(m, "argmax", argmax, "x"_a, "axis"_a, "keepdims"_a = false);
  define(m, "argmin", argmin, "x"_a, "axis"_a, "keepdims"_a = false);
  define(m, "logsumexp", logsumexp, "x"_a, "axis"_a, "keepdims"_a = false);
  define(
      m, "topk",
      [](const Tensor& x, int64_t k, int64_t axis, bool largest) {
        TopK found = topk(x, k, axis, largest);
        return std::make_pair(std::move(found.values), std::move(found.indices));
      },
      "x"_a, "k"_a, "axis"_a = -1, "largest"_a = true);
  define(m, "cumsum", cumsum, "x"_a, "axis"_a);
  define(m, "cumprod", cumprod, "x"_a, "axis"_a);
  define(m, "max_pool1d", max_pool1d, "x"_a, "kernel"_a, "stride"_a = 0);
  define(m, "mean_pool1d", mean_pool1d, "x"_a, "kernel"_a, "stride"_a = 0);
}

// Softmax, norms, and products.
void add_layer_operations(nb::module_& m) {
  define(m, "softmax", softmax, "x"_a, "axis"_a = -1);
  define(m, "log_softmax", log_softmax, "x"_a, "axis"_a = -1);
  define(
      m, "layer_norm",
      [](const Tensor& x, const Optional& weight, const Optional& bias, double eps) {
        return layer_norm(x, 1, weight.tensor, bias.tensor, eps);
      },
      "x"_a, "weight"_a = nb::none(), "bias"_a = nb::none(), "eps"_a = 1e-5);
  define(
      m, "rms_norm",
      [](const Tensor& x, const Optional& weight, double eps) { return rms_norm(x, weight.tensor, eps); }, "x"_a,
      "weight"_a = nb::none(), "eps"_a = 1e-8);
  define(m, "embedding", embedding, "indices"_a, "weight"_a);
  define(
      m, "linear",
      [](const Tensor& x, const Tensor& weight, const Optional& bias) { return linear(x, weight, bias.tensor); }, "x"_a,
      "weight"_a, "bias"_a = nb::none());
  m.def(
      "einsum",
      [](const std::string& equation, nb::args given) {
        const auto all = Argument<std::vector<Tensor>>::of(given);
        return unlocked([&] { return einsum(equation, all); });
      },
      "equation"_a, "operands"_a);
  define(m, "spatial_gate", spatial_gate, "gate"_a, "x"_a, "weight"_a, "bias"_a, "causal"_a = false);
  define(
      m, "conv1d",
      [](const Tensor& x, const Tensor& weight, const Optional& bias, int64_t stride, int64_t padding, int64_t dilation,
         int64_t groups, bool causal) {
        return conv1d(x, weight, bias.tensor, {stride, padding, dilation, groups, causal});
      },
      "x"_a, "weight"_a, "bias"_a = nb::none(), "stride"_a = 1, "padding"_a = 0, "dilation"_a = 1, "groups"_a = 1,
      "causal"_a = false);
}

void add_losses(nb::module_& m) {
  define(m, "cross_entropy", cross_entropy, "logits"_a, "target"_a, "ignore_index"_a = -100);
  define(m, "mse_loss", mse_loss, "x"_a, "target"_a, "reduction"_a = "mean");
  define(m, "l1_loss", l1_loss, "x"_a, "target"_a, "reduction"_a = "mean");
  define(m, "huber_loss", huber_loss, "x"_a, "target"_a, "delta"_a = 1.0, "reduction"_a = "mean");
  define(m, "binary_cross_entropy_with_logits", binary_cross_entropy_with_logits, "logits"_a, "target"_a,
         "reduction"_a = "mean");
  define(m, "kl_divergence", kl_divergence, "x"_a, "target"_a, "reduction"_a = "mean", "log_target"_a = false);
}

void add_transforms(nb::module_& m) {
  define(
      m, "fft", [](const Tensor& x, int64_t axis) { return fft(x, axis); }, "x"_a, "axis"_a = -1);
  define(
      m, "ifft", [](const Tensor& x, int64_t axis) { return ifft(x, axis); }, "x"_a, "axis"_a = -1);
  define(
      m, "rfft", [](const Tensor& x, int64_t axis) { return rfft(x, axis); }, "x"_a, "axis"_a = -1);
  define(
      m, "irfft", [](const Tensor& x, int64_t n, int64_t axis) { return irfft(x, n, axis); }, "x"_a, "n"_a,
      "axis"_a = -1);
  define(m, "tensor_fourier_mix", fourier_mix, "x"_a, "sequence_axis"_a = -2, "hidden_axis"_a = -1);
  define(
      m, "tensor_toeplitz_product",
      [](const Tensor& x, const Tensor& t, bool causal) { return toeplitz_product(x, t, causal); }, "x"_a, "t"_a,
      "causal"_a = false);
}

}  // namespace

void add_functions(nb::module_& m) {
  add_elementwise(m);
  add_arrangements(m);
  add_reductions(m);
  add_layer_operations(m);
  add_losses(m);
  add_transforms(m);
}

}  // namespace weft::python
