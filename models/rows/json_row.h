// Parses a row of a file of JSON lines.
#pragma once
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace weft::detail {

// Returns the JSON value of a line, and calls use(key) for each of its keys in order. Returns a discarded value if the
// line isn't JSON, or if it is nested too deeply, because nlohmann's destructor recurses. The value is not an
// ordered_json, because an ordered_json would compare each key with all others.
template <class UseKey>
nlohmann::json json_row(std::string_view line, UseKey use) {
  constexpr int deepest = 16;
  bool deep = false;
  const auto shallow = [&](int depth, nlohmann::json::parse_event_t event, nlohmann::json& parsed) {
    deep = deep || depth > deepest;
    if (depth == 1 && event == nlohmann::json::parse_event_t::key) use(parsed.get_ref<const std::string&>());
    return !deep;
  };
  auto value = nlohmann::json::parse(line, shallow, false);
  return deep ? nlohmann::json(nlohmann::json::value_t::discarded) : value;
}

// If the value is a string, sets `text` to it. If it is a number, true or false, sets `text` to its JSON text. Returns
// false for other values.
inline bool json_text(const nlohmann::json& value, std::string& text) {
  if (value.is_string()) text = value.get<std::string>();
  else if (value.is_number() || value.is_boolean()) text = value.dump();
  else return false;
  return true;
}

}  // namespace weft::detail
