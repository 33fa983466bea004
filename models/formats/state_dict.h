// Used for formats that consist of a PyTorch state dict in a safetensors file. The file has no metadata, so sizes are
// derived from the shapes of tensors.
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "formats/name_table.h"
#include "weft/checkpoint_format.h"
#include "weft/load_parameters.h"
#include "weft/safetensors.h"

namespace weft::detail {

// Returns the path if it is a file, or the path of model.safetensors in it if it is a folder.
std::string state_dict_in(const std::string& path);

// Counts the distinct numbers at "*" in the names that match the pattern.
std::int64_t count_layers(const SafetensorsFile& file, const std::string& pattern);

// The tensor's size along the axis. Throws an Error that names the file if there is no such tensor or axis.
std::int64_t size_in(const SafetensorsFile& file, const std::string& tensor, std::size_t axis);

// Makes a model according to the spec, with the values in the file, and a tokenizer of the kind "ids".
Checkpoint load_state_dict(const SafetensorsFile& file, const std::string& format, const ModelSpec& spec,
                           const std::function<TensorRole(const std::string&)>& rename, Purpose purpose);

// The arguments of a model that can't be derived from shapes.
struct StateDictConfig {
  nlohmann::json arguments;  // null if there are none
  std::string path;          // of the config.json next to the file
};

// Throws an Error that names the file if config.json exists but isn't a JSON object.
StateDictConfig read_state_dict_config(const SafetensorsFile& file);

// Throws an Error for a property that the format can't store. Call it before anything is written.
[[noreturn]] void refuse_to_write(const std::string& format, const std::string& what);

// Throws an Error unless the model has the architecture and one of the tasks, and isn't quantized.
void check_writable(const std::string& format, const Model& model, const std::string& arch,
                    const std::vector<Task>& tasks);

// Adds a note if rows were padded, because no format of other programs can store this.
void note_padding(const Checkpoint& checkpoint, std::vector<std::string>& notes);

// Writes model.safetensors into the folder, and config.json unless `config` is null. Removes the files of a previous
// model. Returns notes about everything that the format can't store.
std::vector<std::string> save_state_dict(const std::string& folder, const Checkpoint& checkpoint,
                                         const std::vector<std::pair<std::string, Tensor>>& tensors,
                                         const nlohmann::ordered_json& config = nullptr);

}  // namespace weft::detail
