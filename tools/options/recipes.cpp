#include "options/recipes.h"

#include <weft/error.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "console/help.h"
#include "console/nearest.h"
#include "console/report.h"

namespace {

using nlohmann::ordered_json;

std::string as_shown(const ordered_json& value) { return value.is_string() ? value.get<std::string>() : value.dump(); }

// Returns a text like "test accuracy at least 89.5 %". If the value is a goal that was not measured, the text ends with
// " (a goal)".
std::string expected_text(const ordered_json& expected) {
  std::string text = expected.at("figure").get<std::string>();
  for (const char* bound : {"at least", "at most"})
    if (expected.contains(bound)) text += std::string(" ") + bound + " " + as_shown(expected.at(bound));
  const std::string unit = expected.value("unit", "");
  return text + (unit.empty() ? "" : " " + unit) + (expected.value("goal", false) ? " (a goal)" : "");
}

std::string expected_texts(const ordered_json& about) {
  std::vector<std::string> texts;
  for (const ordered_json& expected : about.at("expected")) texts.push_back(expected_text(expected));
  return list(texts);
}

// Returns a text like "batch 32" for a name that is an option of weft train or a field of the model's config. Returns a
// text like "optimizer.eps 1e-08" for a name with its section, which is needed if the name alone is ambiguous.
std::string setting_text(const ordered_json& run, const std::string& name) {
  const ordered_json& model = run.at("model");
  if (const std::size_t point = name.find('.'); point != std::string::npos)
    return name + " " + as_shown(run.at(name.substr(0, point)).at(name.substr(point + 1)));
  if (model.contains(name)) return name + " " + as_shown(model.at(name));
  if (model.at("config").contains(name)) return name + " " + as_shown(model.at("config").at(name));
  for (const char* section : {"data", "training", "optimizer"})
    if (run.at(section).contains(name)) return name + " " + as_shown(run.at(section).at(name));
  throw weft::Error("a recipe names a source for \"" + name + "\", a setting that the recipe does not contain");
}

}  // namespace

std::vector<std::string> recipe_names() {
  std::vector<std::string> names;
  for (const Recipe& each : recipes()) names.push_back(each.name);
  return names;
}

const Recipe& recipe(const std::string& name) {
  for (const Recipe& each : recipes())
    if (each.name == name) return each;
  const std::string meant = nearest(name, recipe_names());
  throw weft::Error("unknown recipe \"" + name + "\"" +
                    (meant.empty() ? ", expected one of " + list(recipe_names()) : "; did you mean " + meant + "?"));
}

std::string recipe_data(const Recipe& recipe) { return ordered_json::parse(recipe.json).at("recipe").at("data"); }

std::string list_recipes() {
  std::string text;
  for (const Recipe& each : recipes()) {
    const ordered_json about = ordered_json::parse(each.json).at("recipe");
    text += help_entry(each.name, about.at("about").get<std::string>() + ". Expected: " + expected_texts(about) +
                                      "; time: " + about.at("time").get<std::string>());
  }
  return text;
}

std::string describe_recipe(const Recipe& recipe) {
  const ordered_json run = ordered_json::parse(recipe.json), about = run.at("recipe");
  std::string text = help_entry(recipe.name, about.at("about"));
  text += help_entry("data", about.at("data")) + help_entry("expected", expected_texts(about));
  for (const ordered_json& expected : about.at("expected")) text += help_entry("", expected.at("source"));
  text += help_entry("time", about.at("time")) + "\nCommands:\n";
  for (const ordered_json& command : about.at("commands")) text += "  " + command.get<std::string>() + "\n";
  for (const ordered_json& source : about.at("sources")) {
    std::vector<std::string> settings;
    for (const ordered_json& name : source.at("settings")) settings.push_back(setting_text(run, name));
    text += "\n" + help_entry("source", source.at("source")) + help_entry("", list(settings));
  }
  return text;
}
