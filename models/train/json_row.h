// A row of JSON lines.
#pragma once
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace weft::detail {

// The value of a line, its keys in their order; discarded if the line isn't JSON, or is nested deeper than rows are:
// nlohmann's destructor recurses.
inline nlohmann::ordered_json json_row(std::string_view line) {
  constexpr int deepest = 16;
  bool deep = false;
  const auto shallow = [&](int depth, nlohmann::ordered_json::parse_event_t, nlohmann::ordered_json&) {
    deep = deep || depth > deepest;
    return !deep;
  };
  auto value = nlohmann::ordered_json::parse(line, shallow, false);
  return deep ? nlohmann::ordered_json(nlohmann::ordered_json::value_t::discarded) : value;
}

// A string, or what a number, true or false looks like in JSON; false for any other.
inline bool json_text(const nlohmann::ordered_json& value, std::string& text) {
  if (value.is_string()) text = value.get<std::string>();
  else if (value.is_number() || value.is_boolean()) text = value.dump();
  else return false;
  return true;
}

}  // namespace weft::detail
