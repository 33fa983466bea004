#include "forms/state_dict.h"

#include <filesystem>
#include <set>

#include "train/load_parameters.h"

namespace weft::detail {

std::string state_dict_in(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::is_directory(path, ignored) ? path + "/model.safetensors" : path;
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

Checkpoint load_state_dict(const SafetensorsFile& file, const std::string& form, const ModelSpec& spec,
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
      made.info.notes.push_back(name + " is left out: weft makes it itself");
    made.info.notes.emplace_back("the form has no tokenizer: texts are ids, with spaces between them");
    made.info.length = made.model->max_length();
    made.info.form = form;
    return made;
  } catch (const Error& error) {
    const std::string message = error.what();
    throw Error(message.rfind(place, 0) == 0 ? message : place + message);
  }
}

}  // namespace weft::detail
