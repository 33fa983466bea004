// A file's tensors as a model's parameters.
#pragma once
#include "weft/checkpoint.h"
#include "weft/safetensors.h"

namespace weft::detail {

// What a model may have that is made of the file's tensors.
ParameterBudget contents(const SafetensorsFile& file);

// Gives the model's parameters, which may be made of shapes alone, their values. For training these are the model's own;
// for inference they stay in the file where type and alignment allow. Error, naming the file, unless it has the
// parameters and no other tensor.
void load_parameters(const SafetensorsFile& file, const Model& model, Purpose purpose);

}  // namespace weft::detail
