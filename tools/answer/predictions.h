// Labels or symbols with their probabilities, as classify and fill-mask print them.
#pragma once
#include <weft/classifier.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

// "NAME TAB PROBABILITY" for each, with tabs between them; of a tab or line end in a name "\\t", "\\n".
std::string as_fields(const std::vector<weft::Prediction>& predictions);
// [{`name`: …, "probability": …}, …]; what isn't UTF-8 in a name is replaced when it is printed by as_line().
nlohmann::ordered_json as_json(const std::vector<weft::Prediction>& predictions, const char* name);
// A probability as people read it.
std::string as_text(const weft::Prediction& prediction);
// A row, with its line end: what has a comma, a quotation mark or a line end is in quotation marks.
std::string as_csv(const std::vector<std::string>& fields);
std::string as_line(const nlohmann::ordered_json& json);
