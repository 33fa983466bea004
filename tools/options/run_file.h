// Reads a run.json or a recipe.
#pragma once
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

// Parses the text as JSON. Returns a discarded value if the text is not JSON or is nested too deeply.
nlohmann::json parse_run(const std::string& text);
// Throws an Error that names the path if the text is not a JSON object.
void check_object(const std::string& text, const std::string& path);
// Whether the text is a run.json or a recipe, and not an architecture's config.
bool describes_run(const std::string& json);

// Returns the text of a setting, or "" if there is none.
std::string run_text(const std::string& json, const std::string& section, const std::string& name);
// Returns the texts of a setting, or an empty list if there are none.
std::vector<std::string> run_texts(const std::string& json, const std::string& section, const std::string& name);
// Whether a setting is true.
bool run_flag(const std::string& json, const std::string& section, const std::string& name);
// Returns the integer value of a setting, or `otherwise` if there is none.
std::int64_t run_setting(const std::string& json, const std::string& section, const std::string& name,
                         std::int64_t otherwise);
