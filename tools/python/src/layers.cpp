// The base classes of the layers in weft.nn. Sequences have the shape (b, n, d).
#include <nanobind/nanobind.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <weft/fnet.h>
#include <weft/gmlp.h>
#include <weft/layers.h>
#include <weft/tnn.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "arguments.h"
#include "bindings.h"

namespace weft::python {
namespace {

namespace nb = nanobind;

using namespace nb::literals;
using std::int64_t;

Init init_of(std::uint64_t seed, const std::string& dtype) {
  if (dtype != "f32" && dtype != "f64") throw nb::value_error(("dtype: expected f32 or f64, got " + dtype).c_str());
  return {Random(seed), dtype == "f32" ? DType::f32 : DType::f64};
}

template <class Layer>
nb::class_<Layer> layer(nb::module_& module, const char* name) {
  return nb::class_<Layer>(module, name).def("named_parameters", [](const Layer& l) { return parameters_of(l); });
}

// Returns the parameter of this name, or nullopt, which becomes None, if the layer does not have it.
template <class Layer>
std::optional<Parameter> parameter_named(const Layer& l, const char* name) {
  for (const auto& [own, parameter] : parameters_of(l))
    if (own == name) return parameter;
  return std::nullopt;
}
template <class Layer>
void add_weight_and_bias(nb::class_<Layer>& type) {
  type.def_prop_ro("weight", [](const Layer& l) { return parameter_named(l, "weight"); });
  type.def_prop_ro("bias", [](const Layer& l) { return parameter_named(l, "bias"); });
}

// Converts the input of a layer. A numpy array or a list takes the dtype of the layer's parameters, because numpy's
// numbers are f64 by default.
template <class Layer>
Tensor input_of(const Layer& layer, nb::handle x) {
  Tensor input = operand(x);
  const bool is_tensor = nb::isinstance<Tensor>(x);
  if (input.dtype() != DType::f64 && (is_tensor || input.dtype() != DType::f32)) return input;
  const DType own = parameters_of(layer).front().second.value().dtype();
  if (input.dtype() == own) return input;
  if (!is_tensor) return raw::convert(input, own);
  throw Error(std::string("[layer] expected a tensor of the layer's dtype ") + dtype_name(own) + ", got " +
              dtype_name(input.dtype()) + "; weft.ops.cast(x, \"" + dtype_name(own) + "\") converts it");
}

// Returns the function for a layer's __call__: f(layer, x, more arguments…) without holding the interpreter's lock.
template <class Layer, class... More>
auto call(Tensor (*f)(const Layer&, const Tensor&, More...)) {
  return [f](const Layer& layer, nb::handle x, typename Argument<std::decay_t<More>>::Given... given) {
    const Tensor input = input_of(layer, x);
    const std::tuple<std::decay_t<More>...> more{Argument<std::decay_t<More>>::of(given)...};
    return unlocked([&] { return std::apply([&](const auto&... each) { return f(layer, input, each...); }, more); });
  };
}
template <class Layer>
Tensor applied(const Layer& layer, const Tensor& x) {
  return layer(x);
}
template <class Layer>
Tensor applied_with_dropout(const Layer& layer, const Tensor& x, const Random* random) {
  if (x.rank() != 3) throw Error("[layer] expected a sequence (b, n, d), got " + to_string(x.shape()));
  return layer(x, random);
}
Tensor applied_gmlp(const GmlpBlock& layer, const Tensor& x, bool causal, const Optional& mask, const Random* random) {
  SpatialMask seen = causal ? SpatialMask::causal() : SpatialMask();
  seen.tensor = mask.tensor;
  return layer(x, seen, random);
}

}  // namespace

void add_layers(nb::module_& module) {
  auto linear_type = layer<Linear>(module, "Linear");
  add_weight_and_bias(linear_type);
  linear_type
      .def(
          "__init__",
          [](Linear* self, int64_t in, int64_t out, bool bias, std::uint64_t seed, const std::string& dtype) {
            new (self) Linear(in, out, init_of(seed, dtype), bias);
          },
          "inputs"_a, "outputs"_a, "bias"_a, "seed"_a, "dtype"_a)
      .def("__call__", call(applied<Linear>), "x"_a);
  auto norm_type = layer<LayerNorm>(module, "LayerNorm");
  add_weight_and_bias(norm_type);
  norm_type
      .def(
          "__init__",
          [](LayerNorm* self, int64_t d, double eps, const std::string& dtype) {
            new (self) LayerNorm(d, init_of(0, dtype), eps);
          },
          "d"_a, "eps"_a, "dtype"_a)
      .def("__call__", call(applied<LayerNorm>), "x"_a);
  auto embedding_type = layer<Embedding>(module, "Embedding");
  add_weight_and_bias(embedding_type);
  embedding_type
      .def(
          "__init__",
          [](Embedding* self, int64_t count, int64_t d, double deviation, std::uint64_t seed,
             const std::string& dtype) { new (self) Embedding(count, d, init_of(seed, dtype), deviation); },
          "count"_a, "d"_a, "deviation"_a, "seed"_a, "dtype"_a)
      .def("__call__", converting([](const Embedding* l, const Tensor& indices) { return (*l)(indices); }), "indices"_a)
      .def("logits", converting([](const Embedding* l, const Tensor& x) { return l->logits(x); }), "x"_a);
  layer<GmlpBlock>(module, "GmlpBlock")
      .def(
          "__init__",
          [](GmlpBlock* self, int64_t d, int64_t d_ffn, int64_t length, double dropout, std::uint64_t seed,
             const std::string& dtype) { new (self) GmlpBlock(d, d_ffn, length, init_of(seed, dtype), dropout); },
          "d"_a, "d_ffn"_a, "length"_a, "dropout"_a, "seed"_a, "dtype"_a)
      .def("__call__", call(applied_gmlp), "x"_a, "causal"_a = false, "mask"_a = nb::none(), "random"_a = nb::none());
  layer<FnetLayer>(module, "FnetLayer")
      .def(
          "__init__",
          [](FnetLayer* self, int64_t d, int64_t d_ffn, const std::string& norm, double dropout,
             const std::string& activation, std::uint64_t seed, const std::string& dtype) {
            new (self) FnetLayer(d, d_ffn, norm_place_from_name(norm), init_of(seed, dtype), 1e-12, dropout,
                                 activation_from_name(activation));
          },
          "d"_a, "d_ffn"_a, "norm"_a, "dropout"_a, "activation"_a, "seed"_a, "dtype"_a)
      .def("__call__", call(applied_with_dropout<FnetLayer>), "x"_a, "random"_a = nb::none());
  layer<TnnLayer>(module, "TnnLayer")
      .def(
          "__init__",
          [](TnnLayer* self, int64_t d, const std::string& config, bool causal, std::uint64_t seed,
             const std::string& dtype) {
            new (self) TnnLayer(d, config_from_json<TnnConfig>("tnn", config), causal, init_of(seed, dtype));
          },
          "d"_a, "config"_a, "causal"_a, "seed"_a, "dtype"_a)
      .def("__call__", call(applied_with_dropout<TnnLayer>), "x"_a, "random"_a = nb::none());
}

}  // namespace weft::python
