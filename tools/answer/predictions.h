// Labels or symbols with their probabilities, as classify and fill-mask print them.
#pragma once
#include <weft/classifier.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

// "NAME TAB PROBABILITY" for each, separated by tabs. A tab or line end in a name is written as "\\t" or "\\n".
std::string as_fields(const std::vector<weft::Prediction>& predictions);
// [{`name`: …, "probability": …}, …]. as_line() replaces invalid UTF-8 in names.
nlohmann::ordered_json as_json(const std::vector<weft::Prediction>& predictions, const char* name);
// A probability with four digits after the point.
std::string as_text(const weft::Prediction& prediction);
// A CSV row with its line end. Fields with a comma, a quotation mark or a line end are quoted.
std::string as_csv(const std::vector<std::string>& fields);
std::string as_line(const nlohmann::ordered_json& json);
