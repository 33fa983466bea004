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

// First rounds all weights, so that an Error for one of them, for example because it isn't finite, changes nothing.
void RoundedWeights::round() {
  std::vector<Tensor> values;
  for (const ParameterSet::Entry& entry : parameters_.entries())
    values.push_back(entry.parameter.quantizable() ? rounded(entry.parameter.value(), to_) : Tensor());
  raw::copy(parameters_.values(), exact_);
  for (std::size_t i = 0; i < values.size(); ++i)
    if (values[i].defined()) Parameter(parameters_.entries()[i].parameter).assign(values[i]);
}

void RoundedWeights::restore() noexcept {
  Tensor& values = parameters_.values();
  std::memcpy(values.mutable_raw(), exact_.raw(),
              static_cast<std::size_t>(values.numel()) * dtype_size(values.dtype()));
}

}  // namespace weft::detail
