// The format of a quantized model in a file.
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "weft/model.h"
#include "weft/safetensors.h"

namespace weft::detail {

// The tensors that a checkpoint stores for the parameters: their values and, for an i8 parameter NAME, also its scales
// as NAME_scale.
std::vector<std::pair<std::string, Tensor>> stored_tensors(const NamedParameters& parameters);

// Gives the parameters of the model, which may have been made with Init::shapes_only, their values for inference:
// rounded to bf16 or i8, or unchanged. Values stay in the file where alignment allows. The model's precision is then
// bf16. Throws an Error that names the file unless it has the tensors of stored_tensors, with scales that are finite
// and at least 0.
void load_quantized(const SafetensorsFile& file, Model& model, DType to);

}  // namespace weft::detail
