// How a quantised model lies in a file.
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "weft/model.h"
#include "weft/safetensors.h"

namespace weft::detail {

// What a checkpoint holds of parameters: their values and, beside an i8 one of the name NAME, its scales as NAME_scale.
std::vector<std::pair<std::string, Tensor>> stored_tensors(const NamedParameters& parameters);

// Gives the model's parameters, which may be made of shapes alone, their values, rounded to bf16 or i8 or not, for
// inference; they stay in the file where alignment allows. The model's precision is then bf16. Error, naming the file,
// unless it has what stored_tensors gives, with scales that are finite and at least 0.
void load_quantized(const SafetensorsFile& file, Model& model, DType to);

}  // namespace weft::detail
