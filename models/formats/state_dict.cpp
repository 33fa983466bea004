#include "formats/state_dict.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include "base/file_set.h"
#include "base/names.h"
#include "checkpoint/load_parameters.h"
#include "formats/json_file.h"
#include "weft/detail/utf8_path.h"
#include "weft/quantize.h"

namespace weft::detail {

std::string state_dict_in(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::is_directory(path_of(path), ignored) ? path + "/model.safetensors" : path;
}

std::int64_t count_layers(const SafetensorsFile& file, const std::string& pattern) {
  std::set<std::string> numbers;
  for (const std::string& name : file.names())
    if (const auto number = number_in(pattern, name)) numbers.insert(*number);
  return std::ssize(numbers);
}

std::int64_t size_in(const SafetensorsFile& file, const std::string& tensor, std::size_t axis) {
  const Shape& shape = file.shape(tensor);
  if (axis >= shape.size())
    throw Error("\"" + file.path() + "\": " + tensor + " is " + to_string(shape) + ", expected " +
                std::to_string(axis + 1) + " axes or more");
  return shape[axis];
}

Checkpoint load_state_dict(const SafetensorsFile& file, const std::string& format, const ModelSpec& spec,
                           const std::function<TensorRole(const std::string&)>& rename, Purpose purpose) {
  const std::string place = "\"" + file.path() + "\": ";
  try {
    ParameterBudget budget = more_than_contents(file);
    Init init;
    init.budget = &budget;
    init.shapes_only = true;
    Checkpoint made;
    made.model = make_model(spec, init);
    made.tokenizer = tokenizer_from_json("{\"unit\":\"ids\",\"size\":" + std::to_string(spec.vocabulary) + "}");
    const LoadReport report = load_parameters(*made.model, file, rename, {purpose, false});
    for (const std::string& name : report.left_out)
      made.info.notes.push_back("the tensor " + name + " is ignored: weft computes its values");
    made.info.notes.emplace_back("the format has no tokenizer: write texts as token ids, separated by spaces");
    made.info.length = made.model->max_length();
    made.info.format = format;
    return made;
  } catch (const Error& error) {
    const std::string message = error.what();
    throw Error(message.rfind(place, 0) == 0 ? message : place + message);
  }
}

StateDictConfig read_state_dict_config(const SafetensorsFile& file) {
  StateDictConfig found;
  found.path = name_of(path_of(file.path()).parent_path() / "config.json");
  std::error_code ignored;
  if (std::filesystem::exists(path_of(found.path), ignored)) found.arguments = read_json_object(found.path);
  return found;
}

void refuse_to_write(const std::string& format, const std::string& what) {
  throw Error("[" + format + "] " + what + "; nothing was written");
}

void check_writable(const std::string& format, const Model& model, const std::string& arch,
                    const std::vector<Task>& tasks) {
  if (model.arch() != arch)
    refuse_to_write(
        format, "the format is for the architecture " + arch + ", but this model has the architecture " + model.arch());
  if (quantized_to(model.parameters())) refuse_to_write(format, "the model is quantized: use the original model");
  if (std::find(tasks.begin(), tasks.end(), model.task()) == tasks.end())
    refuse_to_write(format, std::string("the format does not support the task ") + task_name(model.task()));
}

void note_padding(const Checkpoint& checkpoint, std::vector<std::string>& notes) {
  const std::string length = std::to_string(checkpoint.info.pad_to);
  if (checkpoint.info.pad_to > 0)
    notes.push_back("rows were padded to " + length +
                    " tokens in training, but this format can't store that length: use --pad-to " + length);
}

std::vector<std::string> save_state_dict(const std::string& folder, const Checkpoint& checkpoint,
                                         const std::vector<std::pair<std::string, Tensor>>& tensors,
                                         const nlohmann::ordered_json& config) try {
  const os::FolderTurn turn = turn_at(folder);
  FileSet files(folder, Places::together);
  // If the files are replaced one after the other, model.safetensors must never exist next to the config.json of
  // another model, or without its own config.json.
  if (!config.is_null() || std::filesystem::exists(path_of(folder + "/config.json"))) files.remove("model.safetensors");
  files.remove("config.json");
  if (!config.is_null()) files.write("config.json", config.dump(2) + "\n");
  files.write("model.safetensors", tensors, {{"format", "pt"}});
  files.commit();
  std::vector<std::string> notes = {std::string("this format can't store the tokenizer (") +
                                    checkpoint.tokenizer->kind() + "): pass token ids to the model"};
  const std::vector<std::string>& labels = checkpoint.info.labels;
  if (!labels.empty()) notes.push_back("this format can't store the labels, which are, in order: " + join(labels));
  note_padding(checkpoint, notes);
  return notes;
} catch (const std::filesystem::filesystem_error& error) {
  throw Error("[checkpoint] can't write \"" + folder + "\": " + error.code().message());
}

}  // namespace weft::detail
