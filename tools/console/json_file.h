// JSON files that the command reads itself.
#pragma once
#include <nlohmann/json.hpp>
#include <string>

// A discarded value unless the text is JSON. Error, naming the path, if it is nested more than 16 deep (nlohmann's dump() and
// destructor recurse), or if an object has a key twice, of which nlohmann takes the last.
nlohmann::json parse_json(const std::string& text, const std::string& path);
