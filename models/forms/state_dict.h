// Forms that are a PyTorch state dict in a safetensors file, and say nothing of themselves: sizes come from shapes.
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
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

// A model's arguments, which shapes don't say.
struct StateDictConfig {
  nlohmann::json arguments;  // null: none
  std::string path;          // of the config.json beside the file
};

// Error, naming the file, if it isn't a JSON object.
StateDictConfig read_state_dict_config(const SafetensorsFile& file);

// Error, before anything is written, of what the form has no place for.
[[noreturn]] void refuse_to_write(const std::string& form, const std::string& what);

// Error unless it is of the architecture, has one of the tasks, and isn't quantised.
void check_writable(const std::string& form, const Model& model, const std::string& arch,
                    const std::vector<Task>& tasks);

// Adds that rows were filled up, if they were: no form has a place for it.
void note_padding(const Checkpoint& checkpoint, std::vector<std::string>& notes);

// Writes the folder's model.safetensors, and config.json unless it is null; another model's is removed. Gives notes on what of
// the checkpoint has no place there.
std::vector<std::string> save_state_dict(const std::string& folder, const Checkpoint& checkpoint,
                                         const std::vector<std::pair<std::string, Tensor>>& tensors,
                                         const nlohmann::ordered_json& config = nullptr);

}  // namespace weft::detail
