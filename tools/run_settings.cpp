#include "run_settings.h"

#include <weft/context.h>
#include <weft/error.h>
#include <weft/version.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <nlohmann/json.hpp>

namespace {

using nlohmann::json;
using nlohmann::ordered_json;
using weft::Error;

// What isn't an option of the run: what stands for the model, and the run itself.
bool is_no_setting(const std::string& name) {
  for (const char* each : {"out", "resume", "overwrite", "keep-going", "threads", "help"})
    if (name == each) return true;
  return false;
}

// "data" of "Data"; empty for the model's, which are resolved into its config.
std::string section_of(const CLI::Option& option) {
  std::string group = option.get_group();
  std::transform(group.begin(), group.end(), group.begin(), [](unsigned char c) { return std::tolower(c); });
  return group == "model" || option.get_lnames().empty() ? "" : group;
}

bool is_path(const CLI::Option& option) { return option.get_type_name() == "FILE" || option.get_type_name() == "DIR"; }

// A number where the option is one, else a string.
ordered_json value_of(const CLI::Option& option, const std::string& text) {
  if (is_path(option)) return std::filesystem::absolute(text).lexically_normal().string();
  const ordered_json number = ordered_json::parse(text, nullptr, false);
  return option.get_type_name() != "TEXT" && number.is_number() ? number : ordered_json(text);
}

// As it was chosen in the end; else as given; else by default. Null if there is nothing.
ordered_json setting_of(const CLI::Option& option, const ordered_json& chosen) {
  const std::string name = option.get_lnames().front();
  if (chosen.contains(name)) return chosen[name];
  std::vector<std::string> texts = option.results();
  if (texts.empty() && !option.get_default_str().empty()) texts.push_back(option.get_default_str());
  if (texts.empty() || (texts.size() == 1 && texts[0].empty())) return nullptr;
  if (texts.size() == 1) return value_of(option, texts[0]);
  ordered_json all = ordered_json::array();
  for (const std::string& text : texts) all.push_back(value_of(option, text));
  return all;
}

json parse_run(const std::string& text) {
  const auto shallow = [](int depth, json::parse_event_t, json&) { return depth <= 16; };
  return json::parse(text, shallow, false);
}

bool is_excluded(const CLI::Option& option) {
  const auto excludes = option.get_excludes();
  return std::any_of(excludes.begin(), excludes.end(), [](const CLI::Option* other) { return other->count() > 0; });
}

void set_option(CLI::Option& option, const json& value, const std::string& path) {
  for (const json& each : value.is_array() ? value : json::array({value})) {
    if (each.is_structured() || each.is_null())
      throw Error("\"" + path + "\": expected a value of " + option.get_name() + ", got " + each.dump());
    option.add_result(each.is_string() ? each.get<std::string>() : each.dump());
  }
  try {
    option.run_callback();
  } catch (const CLI::ParseError& error) {
    throw Error("\"" + path + "\": " + error.what());
  }
}

}  // namespace

bool describes_run(const std::string& text) {
  const json run = parse_run(text);
  return run.is_object() && run.contains("weft") && run.contains("model") && run["model"].is_object();
}

std::string describe_run(const CLI::App& command, const weft::Model& model, const weft::Data& data,
                         const weft::Trainer& trainer) {
  ordered_json chosen = ordered_json::parse(trainer.description());
  for (const char* no_option : {"arch", "task", "model", "data"}) chosen.erase(no_option);
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
  run["machine"] = {{"threads", context.threads()}, {"instruction set", weft::isa_name(context.isa())}};
  return run.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

void apply_run(CLI::App& command, const std::string& text, const std::string& path) {
  if (!describes_run(text)) throw Error("\"" + path + "\" is not the run.json of a run");
  const json run = parse_run(text);
  const bool other_optimizer = command.count("--optimizer") > 0;  // whose options are its own
  std::vector<std::pair<CLI::Option*, json>> found;               // before any is set, which would exclude others
  for (const auto& section : run.items()) {
    if (section.key() == "weft" || section.key() == "model" || section.key() == "found" || section.key() == "machine")
      continue;
    if (!section.value().is_object())
      throw Error("\"" + path + "\": expected \"" + section.key() + "\" to be an object");
    if (section.key() == "optimizer" && other_optimizer) continue;
    for (const auto& setting : section.value().items()) {
      CLI::Option* option = command.get_option_no_throw("--" + setting.key());
      if (option == nullptr || is_no_setting(setting.key()))
        throw Error("\"" + path + "\": weft train has no option \"" + setting.key() + "\"");
      if (option->count() == 0 && !is_excluded(*option)) found.emplace_back(option, setting.value());
    }
  }
  for (const auto& [option, value] : found) set_option(*option, value, path);
}

std::int64_t run_setting(const std::string& text, const std::string& section, const std::string& name,
                         std::int64_t otherwise) {
  const json run = parse_run(text);
  if (!run.is_object() || !run.contains(section) || !run[section].is_object() || !run[section].contains(name))
    return otherwise;
  const json& value = run[section][name];
  return value.is_number_integer() ? value.get<std::int64_t>() : otherwise;
}
