// The operations on tensors, by the names of weft.ops. Each argument may be a Tensor, a Parameter or an array.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <weft/ops.h>
#include <weft/parameter.h>
#include <weft/random.h>

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

bool is_number(nb::handle x) { return PyFloat_Check(x.ptr()) || PyLong_Check(x.ptr()); }

// An operand that may be a number, which then has the dtype of the other one.
Tensor operand_like(nb::handle x, const Tensor& other) {
  return is_number(x) ? Tensor::scalar(nb::cast<double>(x), other.dtype()) : operand(x);
}

// Both operands, of which one may be a number.
std::pair<Tensor, Tensor> operands(nb::handle a, nb::handle b) {
  if (is_number(a)) {
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
  return nb::cast<std::vector<int64_t>>(axis);
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
      "sum", [](nb::handle x, nb::handle axis, bool keepdims) { return sum(operand(x), axes_of(axis), keepdims); },
      "x"_a, "axis"_a = nb::none(), "keepdims"_a = false);
  m.def(
      "mean", [](nb::handle x, nb::handle axis, bool keepdims) { return mean(operand(x), axes_of(axis), keepdims); },
      "x"_a, "axis"_a = nb::none(), "keepdims"_a = false);
  m.def(
      "max", [](nb::handle x, int64_t axis, bool keepdims) { return max(operand(x), axis, keepdims); }, "x"_a, "axis"_a,
      "keepdims"_a = false);
  m.def(
      "softmax", [](nb::handle x, int64_t axis) { return softmax(operand(x), axis); }, "x"_a, "axis"_a = -1);
  m.def(
      "log_softmax", [](nb::handle x, int64_t axis) { return log_softmax(operand(x), axis); }, "x"_a, "axis"_a = -1);
  m.def(
      "layer_norm",
      [](nb::handle x, nb::handle weight, nb::handle bias, double eps) {
        return layer_norm(operand(x), 1, optional_operand(weight), optional_operand(bias), eps);
      },
      "x"_a, "weight"_a = nb::none(), "bias"_a = nb::none(), "eps"_a = 1e-5);
  m.def(
      "rms_norm",
      [](nb::handle x, nb::handle weight, double eps) { return rms_norm(operand(x), optional_operand(weight), eps); },
      "x"_a, "weight"_a = nb::none(), "eps"_a = 1e-8);
  m.def(
      "embedding", [](nb::handle indices, nb::handle weight) { return embedding(operand(indices), operand(weight)); },
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

  m.def(
      "cross_entropy",
      [](nb::handle logits, nb::handle target, int64_t ignore_index) {
        return cross_entropy(operand(logits), operand(target), ignore_index);
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
      "rfft", [](nb::handle x, int64_t axis) { return rfft(operand(x), axis); }, "x"_a, "axis"_a = -1);
  m.def(
      "irfft", [](nb::handle x, int64_t n, int64_t axis) { return irfft(operand(x), n, axis); }, "x"_a, "n"_a,
      "axis"_a = -1);
  m.def(
      "fft", [](nb::handle x, int64_t axis) { return fft(operand(x), axis); }, "x"_a, "axis"_a = -1);
  m.def(
      "ifft", [](nb::handle x, int64_t axis) { return ifft(operand(x), axis); }, "x"_a, "axis"_a = -1);
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
