// JSON from files.
#pragma once
#include <nlohmann/json.hpp>
#include <string>

#include "weft/error.h"

namespace weft {

// A discarded value if `text` is not JSON. Error if it is nested deeper than anything of ours: nlohmann's dump() recurses.
inline nlohmann::json parse_json(const std::string& text) {
  constexpr int deepest = 16;
  const auto shallow = [](int depth, nlohmann::json::parse_event_t, nlohmann::json&) {
    if (depth > deepest) throw Error("[json] nested more than " + std::to_string(deepest) + " deep");
    return true;
  };
  return nlohmann::json::parse(text, shallow, false);
}

}  // namespace weft
