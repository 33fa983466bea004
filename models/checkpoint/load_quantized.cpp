#include "checkpoint/load_quantized.h"

#include <cmath>

#include "base/for_inference.h"
#include "weft/detail/rebind.h"

namespace weft {
using namespace detail;

namespace {

std::string scale_name(const std::string& name) { return name + "_scale"; }

// A tensor as the file must store it.
struct Stored {
  DType dtype;
  Shape shape;
};

// How the file stores the values of a quantized matrix (out, in), and their scales.
Stored values_of(const Shape& matrix, Quantization to) {
  if (to == Quantization::bf16) return {DType::bf16, matrix};
  if (to == Quantization::int8) return {DType::i8, matrix};
  return {DType::i8, {matrix[0], (matrix[1] + 1) / 2}};
}
Stored scales_of(const Shape& matrix, Quantization to) {
  if (to == Quantization::int8) return {DType::f32, {matrix[0]}};
  return {DType::bf16, {matrix[0], (matrix[1] + QuantizedWeight::group - 1) / QuantizedWeight::group}};
}

// Loads a tensor. Throws an Error unless it has the dtype and shape that the model requires.
Tensor load_as(const SafetensorsFile& file, const std::string& name, const Stored& as) {
  const std::string place = "\"" + file.path() + "\": " + name + " is ";
  if (file.shape(name) != as.shape)
    throw Error(place + to_string(file.shape(name)) + ", but the config requires " + to_string(as.shape));
  Tensor value = file.load(name);
  if (value.dtype() != as.dtype) throw Error(place + file.stored_dtype(name) + ", expected " + dtype_name(as.dtype));
  return value;
}

Tensor load_scales(const SafetensorsFile& file, const std::string& name, const Stored& as) {
  const std::string scale = scale_name(name);
  if (!file.contains(scale)) throw Error("\"" + file.path() + "\": " + name + " is i8, but the file has no " + scale);
  Tensor scales = load_as(file, scale, as);
  const bool signs = as.dtype == DType::bf16;  // scales in 4 bits may be negative
  for (const float s : raw::convert(scales, DType::f32).to_vector<float>())
    if (!std::isfinite(s) || (s < 0 && !signs))
      throw Error("\"" + file.path() + "\": " + scale + " has " + std::to_string(s) + ", expected finite numbers" +
                  (signs ? "" : " of at least 0"));
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

void detail::load_quantized(const SafetensorsFile& file, Model& model, Quantization to) {
  std::size_t tensors = 0;
  for (const auto& [name, parameter] : model.parameters()) {
    const Shape shape = parameter.shape();
    if (parameter.quantizable() && file.stored_dtype(name) == "F32")  // was not quantizable when saved
      Parameter(parameter).set_quantizable(false);
    const bool rounded = parameter.quantizable(), scaled = rounded && to != Quantization::bf16;
    if (scaled && shape.at(1) > QuantizedWeight::most_columns)
      throw Error("\"" + file.path() + "\": " + name + " is " + quantization_name(to) + " " + to_string(shape) +
                  ", expected at most " + std::to_string(QuantizedWeight::most_columns) + " columns");
    const Tensor value = load_as(file, name, rounded ? values_of(shape, to) : Stored{parameter.value().dtype(), shape});
    const Tensor scales = scaled ? load_scales(file, name, scales_of(shape, to)) : Tensor();
    lend_quantized(parameter, value, scales, quantized_for_inference);
    tensors += scaled ? 2 : 1;
  }
  if (file.names().size() != tensors)
    throw Error("\"" + file.path() + "\": " + "expected " + std::to_string(tensors) +
                " tensors, as the config requires, got " + std::to_string(file.names().size()));
  model.set_precision(Precision::bf16);
}

}  // namespace weft
