// JSON files that the command reads itself.
#pragma once
#include <nlohmann/json.hpp>
#include <string>

// Returns a discarded value if the text is not JSON. Error, naming the path, if it is nested more than 16 deep
// (nlohmann's dump() and destructor recurse), or if an object has a key twice (nlohmann takes the last one).
nlohmann::json parse_json(const std::string& text, const std::string& path);
