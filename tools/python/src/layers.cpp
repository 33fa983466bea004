// The library's layers, as weft.nn wraps them. Sequences have the shape (b, n, d).
#include <nanobind/nanobind.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <weft/fnet.h>
#include <weft/gmlp.h>
#include <weft/layers.h>
#include <weft/tnn.h>

#include <cstdint>
#include <string>
#include <utility>

#include "bindings.h"
#include "tensors.h"

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

const Random* pointer(nb::handle random) {
  if (random.is_none()) return nullptr;
  if (!nb::isinstance<Random>(random)) throw nb::type_error("random: expected a weft.Random or None");
  return nb::cast<const Random*>(random);
}

// f on a sequence in the layout (n, b, d). Transposing is free between two of these layers: the result of the first is
// then stored as (n, b, d), and transposed twice.
template <class F>
Tensor with_tokens_first(const Tensor& x, F f) {
  if (x.rank() != 3) throw Error("[layer] expected a sequence (b, n, d), got " + to_string(x.shape()));
  return transpose(f(transpose(x, 0, 1)), 0, 1);
}

SpatialMask spatial_mask(nb::handle mask, bool causal) {
  SpatialMask made = causal ? SpatialMask::causal() : SpatialMask();
  if (!mask.is_none()) made.tensor = operand(mask);
  return made;
}

}  // namespace

void add_layers(nb::module_& module) {
  layer<Linear>(module, "Linear")
      .def(
          "__init__",
          [](Linear* self, int64_t in, int64_t out, bool bias, std::uint64_t seed, const std::string& dtype) {
            new (self) Linear(in, out, init_of(seed, dtype), bias);
          },
          "inputs"_a, "outputs"_a, "bias"_a, "seed"_a, "dtype"_a)
      .def("__call__", [](const Linear& l, nb::handle x) {
        const Tensor a = operand(x);
        return unlocked([&] { return l(a); });
      });
  layer<LayerNorm>(module, "LayerNorm")
      .def(
          "__init__",
          [](LayerNorm* self, int64_t d, double eps, const std::string& dtype) {
            new (self) LayerNorm(d, init_of(0, dtype), eps);
          },
          "d"_a, "eps"_a, "dtype"_a)
      .def("__call__", [](const LayerNorm& l, nb::handle x) {
        const Tensor a = operand(x);
        return unlocked([&] { return l(a); });
      });
  layer<Embedding>(module, "Embedding")
      .def(
          "__init__",
          [](Embedding* self, int64_t count, int64_t d, double deviation, std::uint64_t seed,
             const std::string& dtype) { new (self) Embedding(count, d, init_of(seed, dtype), deviation); },
          "count"_a, "d"_a, "deviation"_a, "seed"_a, "dtype"_a)
      .def("__call__",
           [](const Embedding& l, nb::handle indices) {
             const Tensor a = operand(indices);
             return unlocked([&] { return l(a); });
           })
      .def("logits", [](const Embedding& l, nb::handle x) {
        const Tensor a = operand(x);
        return unlocked([&] { return l.logits(a); });
      });
  layer<GmlpBlock>(module, "GmlpBlock")
      .def(
          "__init__",
          [](GmlpBlock* self, int64_t d, int64_t d_ffn, int64_t length, double dropout, std::uint64_t seed,
             const std::string& dtype) { new (self) GmlpBlock(d, d_ffn, length, init_of(seed, dtype), dropout); },
          "d"_a, "d_ffn"_a, "length"_a, "dropout"_a, "seed"_a, "dtype"_a)
      .def(
          "__call__",
          [](const GmlpBlock& l, nb::handle x, bool causal, nb::handle mask, nb::handle random) {
            const Tensor a = operand(x);
            const SpatialMask seen = spatial_mask(mask, causal);
            const Random* dropout = pointer(random);
            return unlocked(
                [&] { return with_tokens_first(a, [&](const Tensor& tokens) { return l(tokens, seen, dropout); }); });
          },
          "x"_a, "causal"_a = false, "mask"_a = nb::none(), "random"_a = nb::none());
  layer<FnetLayer>(module, "FnetLayer")
      .def(
          "__init__",
          [](FnetLayer* self, int64_t d, int64_t d_ffn, const std::string& norm, double dropout,
             const std::string& activation, std::uint64_t seed, const std::string& dtype) {
            new (self) FnetLayer(d, d_ffn, norm_place_from_name(norm), init_of(seed, dtype), 1e-12, dropout,
                                 activation_from_name(activation));
          },
          "d"_a, "d_ffn"_a, "norm"_a, "dropout"_a, "activation"_a, "seed"_a, "dtype"_a)
      .def(
          "__call__",
          [](const FnetLayer& l, nb::handle x, nb::handle random) {
            const Tensor a = operand(x);
            const Random* dropout = pointer(random);
            return unlocked([&] { return l(a, dropout); });
          },
          "x"_a, "random"_a = nb::none());
  layer<TnnLayer>(module, "TnnLayer")
      .def(
          "__init__",
          [](TnnLayer* self, int64_t d, const std::string& config, bool causal, std::uint64_t seed,
             const std::string& dtype) {
            new (self) TnnLayer(d, config_from_json<TnnConfig>("[tnn]", config), causal, init_of(seed, dtype));
          },
          "d"_a, "config"_a, "causal"_a, "seed"_a, "dtype"_a)
      .def(
          "__call__",
          [](const TnnLayer& l, nb::handle x, nb::handle random) {
            const Tensor a = operand(x);
            const Random* dropout = pointer(random);
            return unlocked([&] { return l(a, dropout); });
          },
          "x"_a, "random"_a = nb::none());
}

}  // namespace weft::python
