// Forms that are a PyTorch state dict in a safetensors file, and say nothing of themselves: sizes come from shapes.
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "forms/name_table.h"
#include "weft/checkpoint_form.h"
#include "weft/load_parameters.h"
#include "weft/safetensors.h"

namespace weft::detail {

// The file itself, or the model.safetensors in the folder.
std::string state_dict_in(const std::string& path);

// How many numbers there are for "*" in names that fit the pattern: 0 … n-1.
std::int64_t count_layers(const SafetensorsFile& file, const std::string& pattern);

// The tensor's size along the axis. Error, naming the file, if there is none of that name or axis.
std::int64_t size_in(const SafetensorsFile& file, const std::string& tensor, std::size_t axis);

// A model of the spec with the file's values, and a tokenizer of ids.
Checkpoint load_state_dict(const SafetensorsFile& file, const std::string& form, const ModelSpec& spec,
                           const std::function<TensorRole(const std::string&)>& rename, Purpose purpose);

}  // namespace weft::detail
