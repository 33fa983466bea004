#include "train/run_settings.h"

#include <weft/context.h>
#include <weft/error.h>
#include <weft/version.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "console/command.h"
#include "console/json_file.h"
#include "options/tokenizer_options.h"

namespace {

using nlohmann::json;
using nlohmann::ordered_json;
using weft::Error;

// Whether run.json leaves the option out. It does so if the option concerns the folder or the process rather than the
// run, or if another setting implies it.
bool is_no_setting(const std::string& name) {
  // run.json records epochs as steps
  for (const char* each : {"out", "resume", "overwrite", "keep-going", "threads", "loaders", "help", "epochs"})
    if (name == each) return true;
  return false;
}

// Whether a section of run.json does not contain options of weft train.
bool is_no_section(const std::string& key) {
  for (const char* each : {"weft", "recipe", "model", "found", "machine"})
    if (key == each) return true;
  return false;
}

// Returns the option's section, which is "data" for the group "Data". Returns "" for an option of the model, because
// the model's config records it.
std::string section_of(const CLI::Option& option) {
  std::string group = option.get_group();
  std::transform(group.begin(), group.end(), group.begin(), [](unsigned char c) { return std::tolower(c); });
  return group == "model" || option.get_lnames().empty() ? "" : group;
}

bool is_path(const CLI::Option& option, const std::string& text) {
  const std::string type = option.get_type_name();
  return type == "FILE" || type == "FOLDER" || type == "FILE|DIR" ||
         (type == "KIND|FILE" && names_tokenizer_file(text)) ||
         (type == "FILE|PART" && text != every_tenth_row && !is_share(text));
}

// Returns a number for a numeric option, true or false for a flag, else a string.
ordered_json value_of(const CLI::Option& option, const std::string& text) {
  if (is_path(option, text)) return std::filesystem::absolute(text).lexically_normal().string();
  if (option.get_items_expected_max() == 0) return text == "true";
  const ordered_json number = ordered_json::parse(text, nullptr, false);
  const std::string type = option.get_type_name();
  const bool is_number = type == "N" || type == "X" || (type == "FILE|PART" && is_share(text));
  return is_number && number.is_number() ? number : ordered_json(text);
}

// Whether the option needs another one that isn't given.
bool misses_required_option(const CLI::Option& option) {
  const auto partners = option.get_needs();
  return std::any_of(partners.begin(), partners.end(), [](const CLI::Option* other) { return other->count() == 0; });
}

// Returns the value that the run chose, or else the given one, or else the default, or null if there is none.
ordered_json setting_of(const CLI::Option& option, const ordered_json& chosen) {
  const std::string name = option.get_lnames().front();
  if (chosen.contains(name)) return chosen[name];
  std::vector<std::string> texts = option.results();
  if (texts.empty() && !option.get_default_str().empty()) texts.push_back(option.get_default_str());
  if (texts.empty() || texts.back().empty() || misses_required_option(option)) return nullptr;
  return value_of(option, texts.back());  // if the option is given more than once, the last value counts
}

// Returns the data settings that a run of an earlier version of weft implies. In such a run, the best
// checkpoint was determined by the test rows, or by every tenth row if there were no test rows, or, for a text, by its
// last tenth. Returns null for other runs and for recipes.
json data_of_old_run(const json& run) {
  if (!run.contains("weft") || !run.contains("data") || !run["data"].is_object()) return nullptr;
  json data = run["data"];
  if (data.contains("text") && !data.contains("split")) {
    data["split"] = "90/10/0";
  } else if (data.contains("data") && !data.contains("validation")) {
    data["validation"] = data.value("test", json(every_tenth_row));
    data.erase("test");
  } else {
    return nullptr;
  }
  return data;
}

bool is_excluded(const CLI::Option& option) {
  const auto excludes = option.get_excludes();
  return std::any_of(excludes.begin(), excludes.end(), [](const CLI::Option* other) { return other->count() > 0; });
}

// Whether the option is given with a value that differs from the run's.
bool is_changed(const CLI::App& command, const std::string& option, const json& value) {
  return command.count(option) > 0 && value != command.get_option(option)->as<std::string>();
}

// Whether the length of the sequences is given.
bool gives_length(const CLI::App& command) {
  const std::vector<std::string> fields = command.get_option("--set")->results();
  return command.count("--seq-len") > 0 || std::any_of(fields.begin(), fields.end(), [](const std::string& field) {
           return field.starts_with("seq_len=");
         });
}

// Whether a setting of the run doesn't apply because `command` chooses something else. A different optimizer has its
// own options, except for clipping, and its own learning rate. The rate of the schedule noam is a factor, so it applies
// to no other schedule. Rows that were padded to the length of the sequences are padded to the new length.
bool is_of_another_choice(const CLI::App& command, const json& run, const std::string& section,
                          const std::string& name) {
  const json& settings = run[section];
  if (section == "optimizer" && name != "clip")
    return is_changed(command, "--optimizer", settings.value("optimizer", json()));
  if (section == "training" && (name == "lr" || name == "warmup")) {
    const json schedule = settings.value("schedule", json()),
               optimizer = run.value("/optimizer/optimizer"_json_pointer, json());
    const bool was_noam = schedule == "noam";
    const bool is_noam = is_changed(command, "--schedule", schedule)
                             ? command.get_option("--schedule")->as<std::string>() == "noam"
                             : was_noam;
    const bool is_other_rate = name == "lr" && !is_noam && is_changed(command, "--optimizer", optimizer);
    return was_noam != is_noam || is_other_rate;
  }
  if (name == "pad-to" && run["model"].contains("config") && run["model"]["config"].is_object())
    return gives_length(command) && settings[name] == run["model"]["config"].value("seq_len", json()).dump();
  return false;
}

void set_option(CLI::Option& option, const json& value, const std::string& path) {
  if (value.is_structured() || value.is_null())
    throw Error("\"" + path + "\": expected a value for " + option.get_name() + ", got " + value.dump());
  option.add_result(value.is_string() ? value.get<std::string>() : value.dump());
  try {
    option.run_callback();
  } catch (const CLI::ParseError& error) {
    throw Error("\"" + path + "\": " + error.what());
  }
}

}  // namespace

std::string describe_run(const CLI::App& command, const TrainOptions& o, const Training& training,
                         const weft::Trainer& trainer) {
  const weft::Model& model = *training.model;
  const weft::Data& data = *training.data;
  ordered_json chosen = ordered_json::parse(trainer.description());
  for (const char* no_option : {"arch", "task", "model", "data", "groups"}) chosen.erase(no_option);
  if (!o.ema) chosen.erase("ema");
  if (chosen["fake-quant"] == "none") chosen.erase("fake-quant");
  if (model.task() == weft::Task::classifier && model.vocabulary() > 0)
    chosen["pad-to"] = data.pad_to() > 0 ? std::to_string(data.pad_to()) : "exact";
  chosen["eval-every"] = o.eval_every.value();
  if (o.fold) chosen["folds"] = std::to_string(*o.fold + 1) + "/" + std::to_string(o.folds);
  const weft::Context& context = weft::Context::current();
  ordered_json run{{"weft", WEFT_VERSION}};
  run["model"] = {
      {"arch", model.arch()}, {"task", weft::task_name(model.task())}, {"config", ordered_json::parse(model.config())}};
  for (const CLI::Option* option : command.get_options()) {
    const std::string section = section_of(*option);
    if (section.empty() || is_no_setting(option->get_lnames().front())) continue;
    const ordered_json setting = setting_of(*option, chosen);
    if (!setting.is_null()) run[section][option->get_lnames().front()] = setting;
  }
  run["found"] = {{"parameters", weft::parameter_count(model.parameters())},
                  {"symbols", model.vocabulary()},
                  {"outputs", model.outputs()},
                  {"data", data.fingerprint()}};
  if (training.best_by.name != "loss")
    run["found"]["best-by"] = {{"metric", training.best_by.name},
                               {"lower-is-better", training.best_by.lower_is_better}};
  const weft::InputSpec& input = model.input();
  if (input.channels > 0) run["found"]["channels"] = input.channels;
  if (input.height > 0) run["found"].update({{"height", input.height}, {"width", input.width}, {"patch", input.patch}});
  if (input.positions != weft::InputSpec().positions) run["found"]["positions"] = input.positions;
  if (input.length > 0) run["found"]["length"] = input.length;
  if (!training.columns.empty()) run["found"]["columns"] = training.columns;
  if (!training.second_columns.empty()) run["found"]["second-columns"] = training.second_columns;
  run["machine"] = {{"threads", context.threads()}, {"instruction set", weft::isa_name(context.isa())}};
  if (o.ranks != nullptr) run["machine"]["ranks"] = o.ranks->size();
  return run.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

void apply_run(CLI::App& command, const std::string& text, const std::string& path,
               const std::vector<std::string>& except) {
  json run = parse_json(text, path);
  if (!describes_run(text)) throw Error("\"" + path + "\" is not the run.json of a run");
  if (const json data = data_of_old_run(run); !data.is_null()) run["data"] = data;
  // Collects all options before it sets the first one, which may exclude others.
  std::vector<std::pair<CLI::Option*, json>> found;
  for (const auto& section : run.items()) {
    if (is_no_section(section.key())) continue;
    if (!section.value().is_object())
      throw Error("\"" + path + "\": expected \"" + section.key() + "\" to be an object");
    for (const auto& setting : section.value().items()) {
      CLI::Option* option = command.get_option_no_throw("--" + setting.key());
      if (option == nullptr || is_no_setting(setting.key()))
        throw Error("\"" + path + "\": weft train has no option \"" + setting.key() + "\"");
      if (std::find(except.begin(), except.end(), setting.key()) != except.end()) continue;
      if (is_of_another_choice(command, run, section.key(), setting.key())) continue;
      if (option->count() == 0 && !is_excluded(*option)) found.emplace_back(option, setting.value());
    }
  }
  for (const auto& [option, value] : found) set_option(*option, value, path);
  for (const auto& [option, value] : found)
    if (misses_required_option(*option)) option->clear();  // it is set, but has no effect
}

std::string describe_former(const std::string& text) {
  const json data = data_of_old_run(parse_run(text));
  if (data.is_null()) return "";
  const std::string which = data.contains("text") ? "the last tenth of its text is the validation set (--split 90/10/0)"
                            : data["validation"] == every_tenth_row
                                ? "every tenth row is in the validation set (--validation every-tenth)"
                                : "its test rows determine the best checkpoint (--validation FILE)";
  return "run.json is from an earlier version of weft, whose rule still applies: " + which +
         ", and there is no test set";
}

void check_partners(const CLI::App& command) {
  for (const CLI::Option* option : command.get_options())
    if (option->count() > 0 && misses_required_option(*option))
      throw UsageError(option->get_name() + " requires " + (*option->get_needs().begin())->get_name());
}
