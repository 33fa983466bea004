// Helpers for loading parameters from files.
#pragma once
#include "weft/checkpoint.h"
#include "weft/load_parameters.h"

namespace weft::detail {

// The budget for a model made from the file's tensors.
ParameterBudget contents(const SafetensorsFile& file);
// A somewhat larger budget, so that load_parameters can report what is missing.
ParameterBudget more_than_contents(const SafetensorsFile& file);

// How the file of a checkpoint is opened. For training it is mapped, because each parameter is copied anyway.
inline Load opening(const LoadOptions& options) {
  return options.copy && options.purpose == Purpose::inference ? Load::copy : Load::map;
}

// Whether shape, dtype and bytes are equal.
bool same_bits(const Tensor& a, const Tensor& b);

}  // namespace weft::detail
