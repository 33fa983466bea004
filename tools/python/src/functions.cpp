// The operations on tensors, by the names of weft.ops. Each argument may be a Tensor, a Parameter or an array.
#include <nanobind/nanobind.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <weft/ops.h>
#include <weft/parameter.h>
#include <weft/random.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

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

// numpy's axis: None for all axes, a number, or several.
std::vector<int64_t> axes_of(nb::handle axis) {
  if (axis.is_none()) return {};
  if (PyIndex_Check(axis.ptr())) return {nb::cast<int64_t>(axis)};
  std::vector<int64_t> axes;
  if (!nb::try_cast(axis, axes) || axes.empty())
    throw nb::type_error("axis: expected None, a whole number, or a tuple of at least one");
  return axes;
}

Reduction reduction_of(const std::string& name) {
  if (name == "none") return Reduction::none;
  if (name == "mean") return Reduction::mean;
  if (name == "sum") return Reduction::sum;
  if (name == "batch_mean") return Reduction::batch_mean;
  throw nb::value_error(("reduction: expected none, mean, sum or batch_mean, got " + name).c_str());
}

DType dtype_of_name(const std::string& name) {
  for (const DType dtype : {DType::f32, DType::f64, DType::bf16, DType::i64, DType::i8, DType::c64, DType::c128})
    if (name == dtype_name(dtype)) return dtype;
  throw nb::value_error(("dtype: expected f32, f64, bf16, i64, i8, c64 or c128, got " + name).c_str());
}

std::vector<Tensor> all_of(nb::handle parts) {
  std::vector<Tensor> all;
  for (const nb::handle part : parts) all.push_back(operand(part));
  return all;
}

Tensor optional_operand(nb::handle x) { return x.is_none() ? Tensor() : operand(x); }

// squeeze to one_hot, and elements by their indices.
void add_arrangements(nb::module_& m) {
  m.def(
      "squeeze", [](nb::handle x, int64_t axis) { return squeeze(operand(x), axis); }, "x"_a, "axis"_a);
  m.def(
      "unsqueeze", [](nb::handle x, int64_t axis) { return unsqueeze(operand(x), axis); }, "x"_a, "axis"_a);
  m.def(
      "stack", [](nb::handle parts, int64_t axis) { return stack(all_of(parts), axis); }, "parts"_a, "axis"_a = 0);
  m.def(
      "split",
      [](nb::handle x, const std::vector<int64_t>& sizes, int64_t axis) { return split(operand(x), sizes, axis); },
      "x"_a, "sizes"_a, "axis"_a = 0);
  m.def(
      "roll", [](nb::handle x, int64_t shift, int64_t axis) { return roll(operand(x), shift, axis); }, "x"_a, "shift"_a,
      "axis"_a);
  m.def(
      "pad",
      [](nb::handle x, const std::vector<std::pair<int64_t, int64_t>>& widths, double value) {
        return pad(operand(x), widths, value);
      },
      "x"_a, "widths"_a, "value"_a = 0.0);
  m.def(
      "tril", [](nb::handle x, int64_t diagonal) { return tril(operand(x), diagonal); }, "x"_a, "diagonal"_a = 0);
  m.def(
      "triu", [](nb::handle x, int64_t diagonal) { return triu(operand(x), diagonal); }, "x"_a, "diagonal"_a = 0);
  m.def(
      "arange",
      [](double start, double stop, double step, const std::string& dtype) {
        return arange(start, stop, step, dtype_of_name(dtype));
      },
      "start"_a, "stop"_a, "step"_a = 1.0, "dtype"_a = "i64");
  m.def(
      "one_hot",
      [](nb::handle indices, int64_t classes, const std::string& dtype) {
        return one_hot(operand(indices), classes, dtype_of_name(dtype));
      },
      "indices"_a, "classes"_a, "dtype"_a = "f32");
  m.def(
      "index_select",
      [](nb::handle x, int64_t axis, nb::handle indices) { return index_select(operand(x), axis, operand(indices)); },
      "x"_a, "axis"_a, "indices"_a);
  m.def(
      "gather", [](nb::handle x, int64_t axis, nb::handle index) { return gather(operand(x), axis, operand(index)); },
      "x"_a, "axis"_a, "index"_a);
  m.def(
      "scatter_add",
      [](nb::handle x, int64_t axis, nb::handle index, nb::handle source) {
        return scatter_add(operand(x), axis, operand(index), operand(source));
      },
      "x"_a, "axis"_a, "index"_a, "source"_a);
}

// min to conv1d.
void add_reductions(nb::module_& m) {
  struct AlongAxis {
    const char* name;
    Tensor (*function)(const Tensor&, int64_t, bool);
  };
  for (const AlongAxis& op : {AlongAxis{"max", max}, AlongAxis{"min", min}, AlongAxis{"argmax", argmax},
                              AlongAxis{"argmin", argmin}, AlongAxis{"logsumexp", logsumexp}})
    m.def(
        op.name,
        [f = op.function](nb::handle x, int64_t axis, bool keepdims) {
          const Tensor a = operand(x);
          return unlocked([&] { return f(a, axis, keepdims); });
        },
        "x"_a, "axis"_a, "keepdims"_a = false);
  m.def(
      "topk",
      [](nb::handle x, int64_t k, int64_t axis, bool largest) {
        const Tensor a = operand(x);
        TopK found = unlocked([&] { return topk(a, k, axis, largest); });
        return std::make_pair(std::move(found.values), std::move(found.indices));
      },
      "x"_a, "k"_a, "axis"_a = -1, "largest"_a = true);
  m.def(
      "cumsum",
      [](nb::handle x, int64_t axis) {
        const Tensor a = operand(x);
        return unlocked([&] { return cumsum(a, axis); });
      },
      "x"_a, "axis"_a);
  m.def(
      "cumprod",
      [](nb::handle x, int64_t axis) {
        const Tensor a = operand(x);
        return unlocked([&] { return cumprod(a, axis); });
      },
      "x"_a, "axis"_a);
  m.def(
      "norm",
      [](nb::handle x, double p, nb::handle axis, bool keepdims) {
        return norm(operand(x), p, axes_of(axis), keepdims);
      },
      "x"_a, "p"_a = 2.0, "axis"_a = nb::none(), "keepdims"_a = false);
  m.def(
      "var",
      [](nb::handle x, nb::handle axis, int64_t correction, bool keepdims) {
        return var(operand(x), axes_of(axis), correction, keepdims);
      },
      "x"_a, "axis"_a = nb::none(), "correction"_a = 1, "keepdims"_a = false);
  m.def(
      "max_pool1d",
      [](nb::handle x, int64_t kernel, int64_t stride) {
        const Tensor a = operand(x);
        return unlocked([&] { return max_pool1d(a, kernel, stride); });
      },
      "x"_a, "kernel"_a, "stride"_a = 0);
  m.def(
      "mean_pool1d",
      [](nb::handle x, int64_t kernel, int64_t stride) {
        const Tensor a = operand(x);
        return unlocked([&] { return mean_pool1d(a, kernel, stride); });
      },
      "x"_a, "kernel"_a, "stride"_a = 0);
  m.def(
      "conv1d",
      [](nb::handle x, nb::handle weight, nb::handle bias, int64_t stride, int64_t padding, int64_t dilation,
         int64_t groups, bool causal) {
        const Tensor a = operand(x), w = operand(weight), b = optional_operand(bias);
        return unlocked([&] { return conv1d(a, w, b, {stride, padding, dilation, groups, causal}); });
      },
      "x"_a, "weight"_a, "bias"_a = nb::none(), "stride"_a = 1, "padding"_a = 0, "dilation"_a = 1, "groups"_a = 1,
      "causal"_a = false);
}

}  // namespace

void add_functions(nb::module_& m) {
  for (const Named& op : unary)
    m.def(
        op.name,
        [f = op.function](nb::handle x) {
          const Tensor a = operand(x);
          return unlocked([&] { return f(a); });
        },
        "x"_a);
  for (const NamedBinary& op : binary)
    m.def(
        op.name,
        [f = op.function](nb::handle a, nb::handle b) {
          const auto [x, y] = operands(a, b);
          return unlocked([&, &x = x, &y = y] { return f(x, y); });
        },
        "a"_a, "b"_a);
  m.def(
      "clamp", [](nb::handle x, double low, double high) { return clamp(operand(x), low, high); }, "x"_a, "low"_a,
      "high"_a);
  m.def(
      "where",
      [](nb::handle mask, nb::handle a, nb::handle b) {
        const auto [x, y] = operands(a, b);
        return where(operand(mask), x, y);
      },
      "mask"_a, "a"_a, "b"_a);
  m.def(
      "dropout", [](nb::handle x, double p, const Random& random) { return dropout(operand(x), p, random); }, "x"_a,
      "p"_a, "random"_a);

  m.def(
      "reshape", [](nb::handle x, const Shape& shape) { return reshape(operand(x), shape); }, "x"_a, "shape"_a);
  m.def(
      "permute", [](nb::handle x, const std::vector<int64_t>& axes) { return permute(operand(x), axes); }, "x"_a,
      "axes"_a);
  m.def(
      "transpose", [](nb::handle x, int64_t a, int64_t b) { return transpose(operand(x), a, b); }, "x"_a, "axis0"_a,
      "axis1"_a);
  m.def(
      "expand", [](nb::handle x, const Shape& shape) { return expand(operand(x), shape); }, "x"_a, "shape"_a);
  m.def(
      "flip", [](nb::handle x, int64_t axis) { return flip(operand(x), axis); }, "x"_a, "axis"_a);
  m.def(
      "cast", [](nb::handle x, const std::string& dtype) { return cast(operand(x), dtype_of_name(dtype)); }, "x"_a,
      "dtype"_a);
  m.def(
      "concat", [](const nb::sequence& parts, int64_t axis) { return concat(all_of(parts), axis); }, "parts"_a,
      "axis"_a = 0);
  m.def(
      "chunk", [](nb::handle x, int64_t chunks, int64_t axis) { return chunk(operand(x), chunks, axis); }, "x"_a,
      "chunks"_a, "axis"_a = 0);

  m.def(
      "sum",
      [](nb::handle x, nb::handle axis, bool keepdims) {
        const Tensor a = operand(x);
        const std::vector<int64_t> axes = axes_of(axis);
        return unlocked([&] { return sum(a, axes, keepdims); });
      },
      "x"_a, "axis"_a = nb::none(), "keepdims"_a = false);
  m.def(
      "mean",
      [](nb::handle x, nb::handle axis, bool keepdims) {
        const Tensor a = operand(x);
        const std::vector<int64_t> axes = axes_of(axis);
        return unlocked([&] { return mean(a, axes, keepdims); });
      },
      "x"_a, "axis"_a = nb::none(), "keepdims"_a = false);
  m.def(
      "softmax",
      [](nb::handle x, int64_t axis) {
        const Tensor a = operand(x);
        return unlocked([&] { return softmax(a, axis); });
      },
      "x"_a, "axis"_a = -1);
  m.def(
      "log_softmax",
      [](nb::handle x, int64_t axis) {
        const Tensor a = operand(x);
        return unlocked([&] { return log_softmax(a, axis); });
      },
      "x"_a, "axis"_a = -1);
  m.def(
      "layer_norm",
      [](nb::handle x, nb::handle weight, nb::handle bias, double eps) {
        const Tensor a = operand(x), w = optional_operand(weight), b = optional_operand(bias);
        return unlocked([&] { return layer_norm(a, 1, w, b, eps); });
      },
      "x"_a, "weight"_a = nb::none(), "bias"_a = nb::none(), "eps"_a = 1e-5);
  m.def(
      "rms_norm",
      [](nb::handle x, nb::handle weight, double eps) { return rms_norm(operand(x), optional_operand(weight), eps); },
      "x"_a, "weight"_a = nb::none(), "eps"_a = 1e-8);
  m.def(
      "embedding",
      [](nb::handle indices, nb::handle weight) {
        const Tensor i = operand(indices), w = operand(weight);
        return unlocked([&] { return embedding(i, w); });
      },
      "indices"_a, "weight"_a);
  m.def(
      "linear",
      [](nb::handle x, nb::handle weight, nb::handle bias) {
        const Tensor a = operand(x), w = operand(weight), b = optional_operand(bias);
        return unlocked([&] { return linear(a, w, b); });
      },
      "x"_a, "weight"_a, "bias"_a = nb::none());
  m.def(
      "einsum",
      [](const std::string& equation, nb::args given) {
        const std::vector<Tensor> all = all_of(given);
        return unlocked([&] { return einsum(equation, all); });
      },
      "equation"_a, "operands"_a);
  m.def(
      "spatial_gate",
      [](nb::handle gate, nb::handle x, nb::handle weight, nb::handle bias, bool causal) {
        return spatial_gate(operand(gate), operand(x), operand(weight), operand(bias), causal);
      },
      "gate"_a, "x"_a, "weight"_a, "bias"_a, "causal"_a = false);

  add_arrangements(m);
  add_reductions(m);

  m.def(
      "cross_entropy",
      [](nb::handle logits, nb::handle target, int64_t ignore_index) {
        const Tensor a = operand(logits), b = operand(target);
        return unlocked([&] { return cross_entropy(a, b, ignore_index); });
      },
      "logits"_a, "target"_a, "ignore_index"_a = -100);
  m.def(
      "mse_loss",
      [](nb::handle x, nb::handle target, const std::string& reduction) {
        return mse_loss(operand(x), operand(target), reduction_of(reduction));
      },
      "x"_a, "target"_a, "reduction"_a = "mean");
  m.def(
      "l1_loss",
      [](nb::handle x, nb::handle target, const std::string& reduction) {
        return l1_loss(operand(x), operand(target), reduction_of(reduction));
      },
      "x"_a, "target"_a, "reduction"_a = "mean");
  m.def(
      "huber_loss",
      [](nb::handle x, nb::handle target, double delta, const std::string& reduction) {
        return huber_loss(operand(x), operand(target), delta, reduction_of(reduction));
      },
      "x"_a, "target"_a, "delta"_a = 1.0, "reduction"_a = "mean");
  m.def(
      "binary_cross_entropy_with_logits",
      [](nb::handle logits, nb::handle target, const std::string& reduction) {
        return binary_cross_entropy_with_logits(operand(logits), operand(target), reduction_of(reduction));
      },
      "logits"_a, "target"_a, "reduction"_a = "mean");
  m.def(
      "kl_divergence",
      [](nb::handle x, nb::handle target, const std::string& reduction, bool log_target) {
        return kl_divergence(operand(x), operand(target), reduction_of(reduction), log_target);
      },
      "x"_a, "target"_a, "reduction"_a = "mean", "log_target"_a = false);

  m.def(
      "rfft",
      [](nb::handle x, int64_t axis) {
        const Tensor a = operand(x);
        return unlocked([&] { return rfft(a, axis); });
      },
      "x"_a, "axis"_a = -1);
  m.def(
      "irfft",
      [](nb::handle x, int64_t n, int64_t axis) {
        const Tensor a = operand(x);
        return unlocked([&] { return irfft(a, n, axis); });
      },
      "x"_a, "n"_a, "axis"_a = -1);
  m.def(
      "fft",
      [](nb::handle x, int64_t axis) {
        const Tensor a = operand(x);
        return unlocked([&] { return fft(a, axis); });
      },
      "x"_a, "axis"_a = -1);
  m.def(
      "ifft",
      [](nb::handle x, int64_t axis) {
        const Tensor a = operand(x);
        return unlocked([&] { return ifft(a, axis); });
      },
      "x"_a, "axis"_a = -1);
  m.def(
      "tensor_fourier_mix",
      [](nb::handle x, int64_t sequence_axis, int64_t hidden_axis) {
        const Tensor a = operand(x);
        return unlocked([&] { return fourier_mix(a, sequence_axis, hidden_axis); });
      },
      "x"_a, "sequence_axis"_a = -2, "hidden_axis"_a = -1);
  m.def(
      "tensor_toeplitz_product",
      [](nb::handle x, nb::handle t, bool causal) {
        const Tensor a = operand(x), b = operand(t);
        return unlocked([&] { return toeplitz_product(a, b, causal); });
      },
      "x"_a, "t"_a, "causal"_a = false);
}

}  // namespace weft::python
