// Parses the JSON files that the command itself reads.
#pragma once
#include <nlohmann/json.hpp>
#include <string>

// Returns a discarded value if the text is not JSON. Throws an Error that names the path if the text is nested more
// than 16 levels deep, because nlohmann's dump() and destructor are recursive, or if an object has a key twice, because
// nlohmann would ignore the first value.
nlohmann::json parse_json(const std::string& text, const std::string& path);
