#include "options/run_file.h"

#include <weft/error.h>

#include <nlohmann/json.hpp>

#include "console/json_file.h"

using nlohmann::json;
using weft::Error;

json parse_run(const std::string& text) {
  const auto shallow = [](int depth, json::parse_event_t, json&) { return depth <= 16; };
  return json::parse(text, shallow, false);
}

void check_object(const std::string& text, const std::string& path) {
  if (!parse_json(text, path).is_object())
    throw Error("\"" + path +
                "\": expected a JSON object with the fields of an architecture or of a run; is the file truncated?");
}

bool describes_run(const std::string& text) {
  const json run = parse_run(text);
  return run.is_object() && (run.contains("weft") || run.contains("recipe")) && run.contains("model") &&
         run["model"].is_object();
}

std::string run_text(const std::string& text, const std::string& section, const std::string& name) {
  const json run = parse_run(text);
  const json::json_pointer place("/" + section + "/" + name);
  return run.is_object() && run.contains(place) && run[place].is_string() ? run[place].get<std::string>() : "";
}

std::vector<std::string> run_texts(const std::string& text, const std::string& section, const std::string& name) {
  const json run = parse_run(text);
  const json::json_pointer place("/" + section + "/" + name);
  std::vector<std::string> texts;
  if (!run.is_object() || !run.contains(place)) return texts;
  for (const json& each : run[place])
    if (each.is_string()) texts.push_back(each.get<std::string>());
  return texts;
}

bool run_flag(const std::string& text, const std::string& section, const std::string& name) {
  const json run = parse_run(text);
  const json::json_pointer place("/" + section + "/" + name);
  return run.is_object() && run.contains(place) && run[place].is_boolean() && run[place].get<bool>();
}

std::int64_t run_setting(const std::string& text, const std::string& section, const std::string& name,
                         std::int64_t otherwise) {
  const json run = parse_run(text);
  if (!run.is_object() || !run.contains(section) || !run[section].is_object() || !run[section].contains(name))
    return otherwise;
  const json& value = run[section][name];
  return value.is_number_integer() ? value.get<std::int64_t>() : otherwise;
}
