#include "checkpoint/load_quantized.h"

#include <cmath>

#include "base/for_inference.h"
#include "weft/detail/rebind.h"

namespace weft {
using namespace detail;

namespace {

std::string scale_name(const std::string& name) { return name + "_scale"; }

// Loads a tensor. Throws an Error unless it has the dtype and shape that the model requires.
Tensor load_as(const SafetensorsFile& file, const std::string& name, DType dtype, const Shape& shape) {
  const std::string place = "\"" + file.path() + "\": " + name + " is ";
  if (file.shape(name) != shape)
    throw Error(place + to_string(file.shape(name)) + ", but the config requires " + to_string(shape));
  Tensor value = file.load(name);
  if (value.dtype() != dtype) throw Error(place + file.stored_dtype(name) + ", expected " + dtype_name(dtype));
  return value;
}

Tensor load_scales(const SafetensorsFile& file, const std::string& name, std::int64_t rows) {
  const std::string scale = scale_name(name);
  if (!file.contains(scale)) throw Error("\"" + file.path() + "\": " + name + " is i8, but the file has no " + scale);
  Tensor scales = load_as(file, scale, DType::f32, {rows});
  for (const float s : scales.to_vector<float>())
    if (!(s >= 0) || !std::isfinite(s))
      throw Error("\"" + file.path() + "\": " + scale + " has " + std::to_string(s) +
                  ", expected finite numbers of at least 0");
  return scales;
}

}  // namespace

std::vector<std::pair<std::string, Tensor>> detail::stored_tensors(const NamedParameters& parameters) {
  std::vector<std::pair<std::string, Tensor>> tensors;
  for (const auto& [name, parameter] : parameters) {
    tensors.emplace_back(name, parameter.value());
    if (parameter.scales().defined()) tensors.emplace_back(scale_name(name), parameter.scales());
  }
  return tensors;
}

void detail::load_quantized(const SafetensorsFile& file, Model& model, DType to) {
  std::size_t tensors = 0;
  for (const auto& [name, parameter] : model.parameters()) {
    const Shape shape = parameter.value().shape();
    if (parameter.quantizable() && file.stored_dtype(name) == "F32")  // was not quantizable when saved
      Parameter(parameter).set_quantizable(false);
    const bool rounded = parameter.quantizable();
    if (rounded && to == DType::i8 && shape.at(1) > QuantizedWeight::most_columns)
      throw Error("\"" + file.path() + "\": " + name + " is i8 " + to_string(shape) + ", expected at most " +
                  std::to_string(QuantizedWeight::most_columns) + " columns");
    const Tensor value = load_as(file, name, rounded ? to : parameter.value().dtype(), shape);
    Tensor scales;
    if (rounded && to == DType::i8) {
      scales = load_scales(file, name, shape.at(0));
      ++tensors;
    }
    lend_quantized(parameter, value, scales, quantized_for_inference);
    ++tensors;
  }
  if (file.names().size() != tensors)
    throw Error("\"" + file.path() + "\": " + "expected " + std::to_string(tensors) +
                " tensors, as the config requires, got " + std::to_string(file.names().size()));
  model.set_precision(Precision::bf16);
}

}  // namespace weft
