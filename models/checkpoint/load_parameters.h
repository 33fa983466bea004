// Helpers for loading parameters from files.
#pragma once
#include "weft/checkpoint.h"
#include "weft/load_parameters.h"

namespace weft::detail {

// Returns the budget for a model that is made from the file's tensors.
ParameterBudget contents(const SafetensorsFile& file);
// Returns a somewhat larger budget, so that load_parameters can report which tensors are missing.
ParameterBudget more_than_contents(const SafetensorsFile& file);

// Returns how to open a checkpoint's file. For training the file is mapped, because each parameter is copied anyway.
inline Load opening(const LoadOptions& options) {
  return options.copy && options.purpose == Purpose::inference ? Load::copy : Load::map;
}

// Whether the tensors have equal shapes, dtypes and bytes.
bool same_bits(const Tensor& a, const Tensor& b);

}  // namespace weft::detail
