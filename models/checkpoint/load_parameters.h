// What is loaded of a file.
#pragma once
#include "weft/checkpoint.h"
#include "weft/load_parameters.h"

namespace weft::detail {

// What a model may have that is made of the file's tensors.
ParameterBudget contents(const SafetensorsFile& file);
// Somewhat more than that, so that load_parameters says what is missing.
ParameterBudget more_than_contents(const SafetensorsFile& file);

// How the file of a checkpoint is opened. Training copies each parameter anyway.
inline Load opening(const LoadOptions& options) {
  return options.copy && options.purpose == Purpose::inference ? Load::copy : Load::map;
}

// Whether shape, dtype and bytes are the same.
bool same_bits(const Tensor& a, const Tensor& b);

}  // namespace weft::detail
