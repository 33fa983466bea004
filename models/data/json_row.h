// A row of JSON lines.
#pragma once
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace weft::detail {

// Returns the value of a line, and calls use(key) for each of its keys in order. The value is discarded if the line
// isn't JSON, or is nested deeper than any row should be, because nlohmann's destructor recurses. It is not an
// ordered_json, which would search all keys for each key.
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

// A string, or a number, true or false as JSON text; returns false for other values.
inline bool json_text(const nlohmann::json& value, std::string& text) {
  if (value.is_string()) text = value.get<std::string>();
  else if (value.is_number() || value.is_boolean()) text = value.dump();
  else return false;
  return true;
}

}  // namespace weft::detail
