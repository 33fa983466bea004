// Reads a run.json or a recipe.
#pragma once
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

// The text as JSON; discarded if the text is not JSON or nested too deeply.
nlohmann::json parse_run(const std::string& text);
// Error, naming the path, unless the text is a JSON object.
void check_object(const std::string& text, const std::string& path);
// Whether the text is a run.json or a recipe, and not an architecture's config.
bool describes_run(const std::string& json);

// The text of a setting, or "".
std::string run_text(const std::string& json, const std::string& section, const std::string& name);
// The texts of a setting, or none.
std::vector<std::string> run_texts(const std::string& json, const std::string& section, const std::string& name);
// Whether a setting is true.
bool run_flag(const std::string& json, const std::string& section, const std::string& name);
// The whole number of a setting, or `otherwise`.
std::int64_t run_setting(const std::string& json, const std::string& section, const std::string& name,
                         std::int64_t otherwise);
