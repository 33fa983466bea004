#include "checkpoint/model_card.h"

#include <cmath>

#include "base/json.h"
#include "weft/tokenizer.h"

namespace weft::detail {

using nlohmann::json;
using nlohmann::ordered_json;

namespace {

void read_text(const json& card, const char* key, std::string& text) {
  if (card.contains(key)) read_field("checkpoint", key, card.at(key), text);
}

void check_object(const json& value, const char* key) {
  if (!value.is_object())
    throw Error(std::string("[checkpoint] expected an object as the value of \"") + key + "\", got " +
                value.dump().substr(0, 200));
}

}  // namespace

ordered_json card_to_json(const ModelCard& card) {
  check_utf8(card.license, {"[checkpoint] the license"});
  check_utf8(card.about, {"[checkpoint] the description"});
  ordered_json written = ordered_json::object();
  if (!card.license.empty()) written["license"] = card.license;
  if (!card.about.empty()) written["about"] = card.about;
  if (!card.data.empty()) written["data"] = card.data;
  if (!card.settings.empty()) {
    const json settings = parse_json(card.settings);
    if (!settings.is_object())
      throw Error("[checkpoint] expected the settings of a model card to be a JSON object, got \"" +
                  card.settings.substr(0, 200) + "\"");
    written["settings"] = settings;
  }
  json validation;  // sorted by name
  for (const auto& [metric, value] : card.validation)
    if (std::isfinite(value)) validation[metric] = value;
  if (!validation.empty()) written["validation"] = validation;
  return written;
}

ModelCard card_from_json(const json& value) {
  check_object(value, "card");
  ModelCard card;
  read_text(value, "license", card.license);
  read_text(value, "about", card.about);
  read_text(value, "data", card.data);
  if (value.contains("settings")) {
    check_object(value.at("settings"), "settings");
    card.settings = value.at("settings").dump();
  }
  if (value.contains("validation")) {
    check_object(value.at("validation"), "validation");
    for (const auto& [metric, result] : value.at("validation").items()) {
      double number = 0;
      read_field("checkpoint", metric, result, number);
      card.validation.emplace_back(metric, number);
    }
  }
  return card;
}

}  // namespace weft::detail
