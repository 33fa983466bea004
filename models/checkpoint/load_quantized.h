// How a file stores a quantized model.
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "weft/model.h"
#include "weft/quantize.h"
#include "weft/safetensors.h"

namespace weft::detail {

// Returns the tensors that a checkpoint stores for the parameters: their values and, for an i8 parameter NAME, also its
// scales as NAME_scale.
std::vector<std::pair<std::string, Tensor>> stored_tensors(const NamedParameters& parameters);

// Sets the parameters of the model to the values in the file, for inference. The values of quantized parameters are
// in the format `to`, all others are unchanged. The model may have been made with Init::shapes_only. Values stay in the file
// where their alignment allows it. Sets the model's precision to bf16. Throws an Error that names the file unless the
// file has the tensors that stored_tensors returns, with scales that are finite and, in 8 bits, at least 0.
void load_quantized(const SafetensorsFile& file, Model& model, Quantization to);

}  // namespace weft::detail
