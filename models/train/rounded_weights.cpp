#include "train/rounded_weights.h"

#include <algorithm>
#include <cstring>

#include "weft/quantized.h"

namespace weft::detail {
namespace {

Tensor rounded(const Tensor& value, Quantization to) {
  const Tensor result = to == Quantization::bf16
                            ? raw::convert(value, DType::bf16)
                            : QuantizedWeight(value, to == Quantization::int8 ? 8 : 4).dequantized();
  return raw::convert(result, value.dtype());
}

}  // namespace

RoundedWeights::RoundedWeights(ParameterSet& parameters, Quantization to)
    : parameters_(parameters),
      to_(to),
      exact_(Tensor::zeros(parameters.values().shape(), parameters.values().dtype())) {
  const auto& entries = parameters.entries();
  if (std::none_of(entries.begin(), entries.end(), [](const auto& entry) { return entry.parameter.quantizable(); }))
    throw Error(std::string("[train] the model has no trainable parameter that can be rounded to ") +
                quantization_name(to));
}

// First rounds all weights, so that an Error for one of them changes nothing. Writes to the buffer of the set and not to
// the parameters, because these belong to another set if the model has a newer trainer.
void RoundedWeights::round() {
  std::vector<Tensor> values;
  for (const ParameterSet::Entry& entry : parameters_.entries()) try {
      values.push_back(entry.parameter.quantizable() ? rounded(entry.parameter.value(), to_) : Tensor());
    } catch (const Error& error) {
      throw Error("[train] " + entry.name + " can't be rounded: " + error.what());
    }
  raw::copy(parameters_.values(), exact_);
  const std::size_t size = dtype_size(exact_.dtype());
  auto* const buffer = static_cast<unsigned char*>(parameters_.values().mutable_raw());
  for (std::size_t i = 0; i < values.size(); ++i) {
    const ParameterSet::Entry& entry = parameters_.entries()[i];
    if (values[i].defined())
      std::memcpy(buffer + static_cast<std::size_t>(entry.offset) * size, values[i].raw(),
                  static_cast<std::size_t>(entry.numel) * size);
  }
}

void RoundedWeights::restore() noexcept {
  Tensor& values = parameters_.values();
  std::memcpy(values.mutable_raw(), exact_.raw(),
              static_cast<std::size_t>(values.numel()) * dtype_size(values.dtype()));
}

}  // namespace weft::detail
