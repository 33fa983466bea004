// Formats labels or symbols with their probabilities for weft classify and weft fill-mask.
#pragma once
#include <weft/classifier.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

// Returns "NAME TAB PROBABILITY" for each prediction, separated by tabs. A tab or line end in a name is written as \t
// or \n.
std::string as_fields(const std::vector<weft::Prediction>& predictions);
// Returns [{`name`: …, "probability": …}, …]. The names may contain invalid UTF-8, which as_line() replaces.
nlohmann::ordered_json as_json(const std::vector<weft::Prediction>& predictions, const char* name);
// Returns the probability with four digits after the decimal point.
std::string as_text(const weft::Prediction& prediction);
// Returns a CSV row with its line end. Fields with a comma, a quotation mark or a line end are quoted.
std::string as_csv(const std::vector<std::string>& fields);
// Returns the JSON text with a line end. Invalid UTF-8 is replaced.
std::string as_line(const nlohmann::ordered_json& json);
