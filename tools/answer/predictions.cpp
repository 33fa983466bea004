#include "answer/predictions.h"

#include <cstdio>

#include "console/visible.h"

std::string as_fields(const std::vector<weft::Prediction>& predictions) {
  std::string line;
  for (const weft::Prediction& p : predictions)
    line += (line.empty() ? "" : "\t") + visible(p.label) + "\t" + as_text(p);
  return line;
}

std::string as_text(const weft::Prediction& prediction) {
  char probability[32];
  std::snprintf(probability, sizeof probability, "%.4f", prediction.probability);
  return probability;
}

std::string as_csv(const std::vector<std::string>& fields) {
  std::string row;
  for (std::size_t i = 0; i < fields.size(); ++i) {
    if (i > 0) row += ',';
    if (fields[i].find_first_of(",\"\r\n") == std::string::npos) {
      row += fields[i];
      continue;
    }
    row += '"';
    for (const char c : fields[i]) row.append(c == '"' ? 2 : 1, c);
    row += '"';
  }
  return row + "\n";
}

nlohmann::ordered_json as_json(const std::vector<weft::Prediction>& predictions, const char* name) {
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  for (const weft::Prediction& p : predictions) all.push_back({{name, p.label}, {"probability", p.probability}});
  return all;
}

std::string as_line(const nlohmann::ordered_json& json) {
  return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}
