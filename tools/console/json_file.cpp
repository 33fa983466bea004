#include "console/json_file.h"

#include <weft/error.h>

#include <array>
#include <set>

nlohmann::json parse_json(const std::string& text, const std::string& path) {
  using nlohmann::json;
  constexpr int deepest = 16;
  // the keys of each object that is not closed yet, indexed by the depth of its members
  std::array<std::set<std::string>, deepest + 1> keys;
  const auto check = [&](int depth, json::parse_event_t event, json& value) {
    if (depth > deepest)
      throw weft::Error("\"" + path + "\" is nested more than " + std::to_string(deepest) + " levels deep");
    const auto level = static_cast<std::size_t>(depth);
    if (event == json::parse_event_t::object_start && depth < deepest) keys.at(level + 1).clear();
    if (event == json::parse_event_t::key && !keys.at(level).insert(value.get<std::string>()).second)
      throw weft::Error("\"" + path + "\": an object has the key " + value.dump() + " twice");
    return true;
  };
  return json::parse(text, check, false);
}
