// A row of JSON lines.
#pragma once
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace weft::detail {

// The value of a line, and use(key) for each of its keys in their order; discarded if the line isn't JSON, or is nested deeper
// than rows are: nlohmann's destructor recurses. Not an ordered_json, which looks through all keys for each of them.
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

// A string, or what a number, true or false looks like in JSON; false for any other.
inline bool json_text(const nlohmann::json& value, std::string& text) {
  if (value.is_string()) text = value.get<std::string>();
  else if (value.is_number() || value.is_boolean()) text = value.dump();
  else return false;
  return true;
}

}  // namespace weft::detail
