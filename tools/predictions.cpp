#include "predictions.h"

#include <cstdio>

#include "visible.h"

std::string as_fields(const std::vector<weft::Prediction>& predictions) {
  std::string line;
  for (const weft::Prediction& p : predictions) {
    char probability[32];
    std::snprintf(probability, sizeof probability, "\t%.4f", p.probability);
    line += (line.empty() ? "" : "\t") + visible(p.label) + probability;
  }
  return line;
}

nlohmann::ordered_json as_json(const std::vector<weft::Prediction>& predictions, const char* name) {
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  for (const weft::Prediction& p : predictions) all.push_back({{name, p.label}, {"probability", p.probability}});
  return all;
}

std::string as_line(const nlohmann::ordered_json& json) {
  return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}
