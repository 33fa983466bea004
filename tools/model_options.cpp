#include "model_options.h"

#include <weft/error.h>
#include <weft/os.h>

#include <nlohmann/json.hpp>

#include "report.h"

namespace {

using nlohmann::json;
using weft::Error;

struct ConfigFile {
  std::string arch, task;  // empty if it doesn't say
  json fields = json::object();
};

// Takes the text out of the object; empty if there is no such key.
std::string take_text(json& object, const char* key, const std::string& path) {
  const auto found = object.find(key);
  if (found == object.end()) return "";
  if (!found->is_string()) throw Error("\"" + path + "\": expected \"" + key + "\" to be a string");
  const std::string text = *found;
  object.erase(found);
  return text;
}

constexpr int deepest = 16;  // nesting of JSON: its dump() recurses

// Either the fields with "arch" and "task" among them, or the config.json of a checkpoint, with the fields in "config".
ConfigFile read_config(const std::string& path) {
  ConfigFile file;
  const auto shallow = [](int depth, json::parse_event_t, json&) {
    return depth <= deepest;
  };  // deeper values are left out
  file.fields = json::parse(weft::os::read_file(path), shallow, false);
  if (!file.fields.is_object()) throw Error("\"" + path + "\" is not a JSON object of the architecture's fields");
  file.arch = take_text(file.fields, "arch", path);
  file.task = take_text(file.fields, "task", path);
  const auto found = file.fields.find("config");
  if (found == file.fields.end() || !found->is_object()) return file;
  const json config = *found;
  for (const char* key :
       {"config", "version", "classes", "vocabulary", "labels", "pad_to", "length", "step", "validation_loss"})
    file.fields.erase(key);
  file.fields.update(config);
  return file;
}

// KEY=VALUE: the value is JSON, or else a string.
void set_field(json& config, const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0) throw Error("--set " + text + ": expected KEY=VALUE");
  const std::string value = text.substr(equals + 1);
  const json parsed = json::parse(value, nullptr, false);
  if (parsed.is_structured()) throw Error("--set " + text + ": expected a number, true, false or a word");
  json field;
  field[text.substr(0, equals)] = parsed.is_discarded() ? json(value) : parsed;
  try {
    (void)field.dump();
  } catch (const json::exception&) {
    throw Error("--set: expected KEY=VALUE in UTF-8");
  }
  config.update(field);
}

}  // namespace

void ModelOptions::add_to(CLI::App& command) {
  const std::string group = "Model";
  command.add_option("--arch", arch, "Architecture: " + list(weft::architectures()))->group(group);
  command.add_option("--preset", preset, "Sizes of an original experiment: " + list(weft::presets()))->group(group);
  command.add_option("--config", config, "JSON: arch, task, the architecture's fields; or a checkpoint's config.json")
      ->group(group);
  command.add_option("--task", task, "Task: " + list(weft::tasks()))->group(group);
  command.add_option("--layers", layers, "Layers")->group(group);
  command.add_option("--d-model", d_model, "Width of the model")->group(group);
  command.add_option("--d-ffn", d_ffn, "Width of the feed-forward part")->group(group);
  command.add_option("--seq-len", seq_len, "Length of the sequences")->group(group);
  command.add_option("--dropout", dropout, "Probability of dropout")->group(group);
  command.add_option("--set", set, "Any field of the architecture's config, KEY=VALUE")
      ->group(group)
      ->expected(1)
      ->take_all()
      ->allow_extra_args(false);
}

weft::ModelSpec ModelOptions::spec(std::optional<weft::Source> source) const {
  weft::ModelSpec spec;
  if (!preset.empty()) spec = weft::preset(preset);
  const ConfigFile file = config.empty() ? ConfigFile{} : read_config(config);
  const std::string& wanted = arch.empty() ? file.arch : arch;
  if (!preset.empty() && !wanted.empty() && wanted != spec.arch)
    throw Error("preset " + preset + " is of " + spec.arch + ", not of " + wanted);
  if (!wanted.empty()) spec.arch = wanted;
  if (spec.arch.empty())
    throw Error("give --arch (" + list(weft::architectures()) + "), --preset, or \"arch\" in the --config file");

  json fields = json::parse(spec.config);
  fields.update(file.fields);
  const auto put = [&](const char* key, const auto& value) {
    if (value) fields[key] = *value;
  };
  put("layers", layers);
  put("d_model", d_model);
  put("d_ffn", d_ffn);
  put("seq_len", seq_len);
  put("dropout", dropout);
  for (const std::string& field : set) set_field(fields, field);
  spec.config = fields.dump();

  const std::string& chosen = task.empty() ? file.task : task;
  if (!chosen.empty()) spec.task = weft::task_from_name(chosen);
  else if (source) spec.task = weft::usual_task(weft::architecture(spec.arch), *source);
  return spec;
}

std::int64_t usual_length(const weft::Model& model) {
  return config_value(model.config(), "seq_len", model.max_length() > 0 ? model.max_length() : 64);
}

std::int64_t config_value(const std::string& config, const std::string& key, std::int64_t otherwise) {
  const json fields = json::parse(config);
  return fields.contains(key) ? fields.at(key).get<std::int64_t>() : otherwise;
}
