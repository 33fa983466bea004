#include "options/model_options.h"

#include <weft/error.h>
#include <weft/os.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "console/command.h"
#include "console/json_file.h"
#include "console/nearest.h"
#include "console/options.h"
#include "console/report.h"
#include "options/recipes.h"
#include "options/run_file.h"

namespace {

using nlohmann::json;
using weft::Error;

struct ConfigFile {
  std::string arch, task;  // empty if the file doesn't say
  json fields = json::object();
  std::int64_t vocabulary = 0, classes = 0;  // 0 if the file doesn't say
  weft::InputSpec input;  // without channels if the model reads no numbers, or if the file doesn't say
};

// Removes the text with this key from the object and returns it. Returns "" if there is no such key.
std::string take_text(json& object, const char* key, const std::string& path) {
  const auto found = object.find(key);
  if (found == object.end()) return "";
  if (!found->is_string()) throw Error("\"" + path + "\": expected \"" + key + "\" to be a string");
  const std::string text = *found;
  object.erase(found);
  return text;
}

// Reads one of three kinds of files. In the first kind, the fields of the config are members of the top-level object,
// as are "arch" and "task". In a checkpoint's config.json, the fields are in "config". In a run's run.json, "arch",
// "task" and "config" are in "model".
ConfigFile read_config(const std::string& text, const std::string& path) {
  ConfigFile file;
  file.fields = parse_json(text, path);
  if (!file.fields.is_object())
    throw Error("\"" + path + "\": expected a JSON object with the fields of an architecture");
  if (describes_run(text)) {
    file.vocabulary = run_setting(text, "found", "symbols", 0);
    file.classes = run_setting(text, "found", "outputs", 0);
    file.input.channels = run_setting(text, "found", "channels", 0);
    file.input.height = run_setting(text, "found", "height", 0);
    file.input.width = run_setting(text, "found", "width", 0);
    file.input.patch = run_setting(text, "found", "patch", 1);
    file.input.length = run_setting(text, "found", "length", 0);
    if (const std::string kind = run_text(text, "found", "positions"); !kind.empty()) file.input.positions = kind;
    file.fields = json(file.fields["model"]);
  }
  file.arch = take_text(file.fields, "arch", path);
  file.task = take_text(file.fields, "task", path);
  const auto found = file.fields.find("config");
  if (found == file.fields.end() || !found->is_object()) return file;
  const json config = *found;
  for (const char* key : {"config", "version", "classes", "vocabulary", "labels", "pad_to", "pairs", "length", "step",
                          "validation_loss", "card"})
    file.fields.erase(key);
  file.fields.update(config);
  return file;
}

const weft::ConfigField* find_field(const weft::Architecture& architecture, const std::string& name) {
  for (const weft::ConfigField& field : architecture.fields)
    if (field.name == name) return &field;
  return nullptr;
}

// Returns the message "unknown config key "colour" of gmlp …".
std::string unknown_field(const weft::Architecture& architecture, const std::string& name) {
  std::vector<std::string> names;
  for (const weft::ConfigField& field : architecture.fields) names.push_back(field.name);
  const std::string meant = nearest(name, names);
  return "unknown config key \"" + name + "\" of " + architecture.name +
         (meant.empty() ? ", expected one of " + list(names) : "; did you mean " + meant + "?");
}

// Returns the value, converted to the type of the field.
json value_for(const weft::ConfigField& field, const std::string& text) {
  const json usual = json::parse(field.usual);
  if (usual.is_number_integer()) return number_in<std::int64_t>({}, text);
  if (usual.is_number()) return number_in<double>({}, text);
  if (!usual.is_boolean()) return text;
  if (text != "true" && text != "false") throw Error("expected true or false, got \"" + text + "\"");
  return text == "true";
}

bool is_utf8(const std::string& text) {
  try {
    (void)json(text).dump();
    return true;
  } catch (const json::exception&) {
    return false;
  }
}

// Sets the field that a text of the form KEY=VALUE names.
void set_field(json& config, const weft::Architecture& architecture, const std::string& text) {
  const std::size_t equals = text.find('=');
  if (!is_utf8(text)) throw UsageError("--set: expected KEY=VALUE in UTF-8");
  if (equals == std::string::npos || equals == 0) throw UsageError("--set " + text + ": expected KEY=VALUE");
  const std::string name = text.substr(0, equals);
  const weft::ConfigField* field = find_field(architecture, name);
  if (field == nullptr) throw UsageError("--set " + text + ": " + unknown_field(architecture, name));
  try {
    config[name] = value_for(*field, text.substr(equals + 1));
  } catch (const Error& error) {
    throw UsageError("--set " + text + ": " + error.what());
  }
}

// Throws a UsageError if the file is for another architecture and has fields that the chosen architecture lacks. If it
// is for the chosen architecture, the config's own check reports unknown fields.
void check_fields_of(const ConfigFile& file, const weft::Architecture& chosen, const std::string& path) {
  if (file.arch.empty() || file.arch == chosen.name) return;
  std::vector<std::string> foreign;
  for (const auto& field : file.fields.items())
    if (find_field(chosen, field.key()) == nullptr) foreign.push_back(field.key());
  if (!foreign.empty())
    throw UsageError("--arch " + chosen.name + ": \"" + path + "\" is for " + file.arch + ", and the config of " +
                     chosen.name + " has no " + list(foreign) +
                     ": leave out --arch, or leave out --config and give the sizes of " + chosen.name +
                     " (weft info --arch " + chosen.name + " lists them)");
}

}  // namespace

void ModelOptions::add_to(CLI::App& command) {
  add_text(command, "--arch", "NAME", arch, "Architecture: " + list(weft::architectures()),
           [](const std::string& name) { (void)weft::architecture(name); })
      ->group(group);
  add_text(command, "--recipe", "NAME", recipe,
           "Recipe, which gives all settings of an experiment; other options override them (weft recipes describes the "
           "recipes): " +
               list(recipe_names()),
           [](const std::string& name) { (void)::recipe(name); })
      ->group(group)
      ->excludes(command.get_option("--arch"));
  add_text(
      command, "--config", "FILE", config,
      "JSON file with \"arch\", \"task\" and the fields of the architecture's config, or a checkpoint's config.json, "
      "or a run.json, whose run is repeated")
      ->group(group)
      ->excludes(command.get_option("--recipe"));
  add_text(command, "--task", "NAME", task, "Task: " + list(weft::tasks()), [](const std::string& name) {
    (void)weft::task_from_name(name);
  })->group(group);
  add_number(command, "--layers", layers, {0}, "Number of layers")->group(group);
  add_number(command, "--d-model", d_model, {1}, "Width of the model")->group(group);
  add_number(command, "--d-ffn", d_ffn, {0}, "Width of the feed-forward layers; 0: the architecture's default")
      ->group(group);
  add_number(command, "--seq-len", seq_len, {1}, "Length of the sequences")->group(group);
  add_number(command, "--dropout", dropout, {.lowest = 0, .highest = 1, .below = true}, "Dropout probability")
      ->group(group);
  command
      .add_option("--set", set,
                  "Set a field of the architecture's config; this option may be given more than once (weft info --arch "
                  "NAME lists the fields)")
      ->type_name("KEY=VALUE")
      ->group(group)
      ->expected(1)
      ->take_all()
      ->allow_extra_args(false);
}

std::string ModelOptions::settings() const {
  if (!recipe.empty()) return ::recipe(recipe).json;
  if (config.empty()) return "";
  const std::string text = weft::os::read_file(config);
  check_object(text, config);
  return text;
}

weft::ModelSpec ModelOptions::spec(std::optional<weft::Source> source, const weft::Model* from) const {
  weft::ModelSpec spec;
  if (from != nullptr) {
    spec.arch = from->arch();
    spec.task = from->task();
    spec.config = from->config();
  }
  const std::string text = settings();
  const ConfigFile file = text.empty() ? ConfigFile{} : read_config(text, settings_name());
  const std::string& wanted = arch.empty() ? file.arch : arch;
  if (!spec.arch.empty() && !wanted.empty() && wanted != spec.arch)
    throw Error("--from: expected a checkpoint of the architecture " + wanted + ", got " + spec.arch);
  if (!wanted.empty()) spec.arch = wanted;
  if (spec.arch.empty())
    throw UsageError("give --arch (" + list(weft::architectures()) + "), --recipe, or \"arch\" in the --config file");

  const weft::Architecture& architecture = weft::architecture(spec.arch);
  const std::string& chosen = task.empty() ? file.task : task;
  if (!chosen.empty()) spec.task = weft::task_from_name(chosen);
  else if (source && (from == nullptr || weft::task_source(from->task()) != *source))
    spec.task = weft::usual_task(architecture, *source);
  else if (!source) spec.task = architecture.tasks.front();
  spec.vocabulary = file.vocabulary;
  spec.input = file.input;
  if (weft::task_source(spec.task) == weft::Source::rows) spec.classes = file.classes;
  json fields = json::parse(from != nullptr ? from->config_for(spec.task) : spec.config);
  check_fields_of(file, architecture, settings_name());
  fields.update(file.fields);
  const auto put = [&](const char* option, const char* field, const auto& value) {
    if (!value) return;
    if (find_field(architecture, field) == nullptr)
      throw UsageError(std::string(option) + ": " + unknown_field(architecture, field));
    fields[field] = *value;
  };
  put("--layers", "layers", layers);
  put("--d-model", "d_model", d_model);
  put("--d-ffn", "d_ffn", d_ffn);
  put("--seq-len", "seq_len", seq_len);
  put("--dropout", "dropout", dropout);
  for (const std::string& field : set) set_field(fields, architecture, field);
  spec.config = fields.dump();
  return spec;
}

bool ModelOptions::has_usual_length() const {
  const auto sets_length = [](const std::string& field) { return field.starts_with("seq_len="); };
  return !seq_len && settings().empty() && std::none_of(set.begin(), set.end(), sets_length);
}

void set_length(weft::ModelSpec& spec, std::int64_t length) {
  if (find_field(weft::architecture(spec.arch), "seq_len") == nullptr) return;
  json fields = json::parse(spec.config);
  fields["seq_len"] = length;
  spec.config = fields.dump();
}

std::int64_t usual_length(const weft::Model& model) {
  return config_value(model.config(), "seq_len", model.max_length() > 0 ? model.max_length() : 64);
}

std::unique_ptr<weft::Model> outline(const weft::ModelSpec& spec) {
  constexpr std::int64_t most = 100000;  // takes about a second
  weft::ParameterBudget budget{most, std::numeric_limits<std::int64_t>::max()};
  weft::Init init;
  init.budget = &budget;
  init.shapes_only = true;
  try {
    return weft::make_model(spec, init);
  } catch (const Error&) {
    if (budget.parameters > 0) throw;
    throw Error("the model has more than " + std::to_string(most) + " parameter tensors: reduce --layers");
  }
}

void check_memory_to_train(const weft::Model& outline) {
  constexpr double bytes = 3 * sizeof(float);  // each parameter has a value, a gradient and an optimizer state
  const auto parameters = static_cast<double>(weft::parameter_count(outline.parameters()));
  const auto memory = static_cast<double>(weft::os::physical_memory());
  const auto gigabytes = [](double count) { return as_text(std::round(count / 1e8) / 10) + " GB"; };
  if (parameters * bytes > memory)
    throw Error("training a model with " + as_text(parameters) + " parameters needs more than " +
                gigabytes(parameters * bytes) + " of memory, but this machine has " + gigabytes(memory) +
                ": make the model smaller (--layers, --d-model, --seq-len)");
}

std::int64_t config_value(const std::string& config, const std::string& key, std::int64_t otherwise) {
  const json fields = json::parse(config);
  return fields.contains(key) ? fields.at(key).get<std::int64_t>() : otherwise;
}
