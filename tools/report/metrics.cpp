#include "report/metrics.h"

#include <weft/error.h>
#include <weft/os.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <string_view>

namespace report {
namespace {

using weft::Error;

constexpr std::size_t most_points = 300;  // maximum number of points of a curve
constexpr double none = std::numeric_limits<double>::quiet_NaN();

const char* const training_fields[] = {"loss", "learning_rate", "gradient_norm", "tokens_per_second", "seconds"};
const char* const evaluation_fields[] = {"validation_loss", "predicted", "test_loss"};

template <std::size_t n>
bool has_any(const nlohmann::json& line, const char* const (&fields)[n]) {
  return std::any_of(fields, fields + n, [&](const char* field) { return line.contains(field); });
}

// Columns of numbers. A cell is NaN if its row has no number there.
class Table {
 public:
  void add(const nlohmann::json& row, double seconds) {
    const std::size_t before = rows_++;
    for (const auto& field : row.items())
      if (field.value().is_number()) column(field.key(), before).push_back(field.value().get<double>());
    auto& time = column("seconds", before);
    if (time.size() == before) time.push_back(seconds);
    for (auto& [name, values] : columns_) values.resize(rows_, none);
  }
  bool empty() const { return rows_ == 0; }
  Json row(std::size_t i) const {
    Json fields = Json::object();
    for (const auto& [name, values] : columns_) fields[name] = number(values[i]);
    return fields;
  }
  // Returns null if there is no such column.
  const std::vector<double>* find(const std::string& name) const {
    for (const auto& [known, values] : columns_)
      if (known == name) return &values;
    return nullptr;
  }
  // Returns a curve for each column. Each point stands for the same number of rows. It has the step and the time of the
  // last of these rows, and the means of all other columns.
  Json drawn() const {
    Json curves = Json::object();
    for (const auto& [name, values] : columns_) {
      const bool last = name == "step" || name == "seconds";
      curves[name] = numbers(points(
          values, [last](double so_far, double value) { return last ? value : so_far + value; }, !last));
    }
    if (const auto* loss = find("loss"); loss != nullptr && per_point() > 1) {
      curves["low"] = numbers(points(
          *loss, [](double a, double b) { return std::min(a, b); }, false));
      curves["high"] = numbers(points(
          *loss, [](double a, double b) { return std::max(a, b); }, false));
    }
    return curves;
  }

 private:
  std::vector<double>& column(const std::string& name, std::size_t rows) {
    for (auto& [known, values] : columns_)
      if (known == name) return values;
    return columns_.emplace_back(name, std::vector<double>(rows, none)).second;
  }
  std::size_t per_point() const { return std::max<std::size_t>(1, (rows_ + most_points - 1) / most_points); }
  // For each point, joins the finite values of its rows.
  template <class Join>
  std::vector<double> points(const std::vector<double>& values, const Join& join, bool mean) const {
    std::vector<double> joined;
    for (std::size_t begin = 0; begin < rows_; begin += per_point()) {
      double so_far = none, count = 0;
      for (std::size_t i = begin; i < std::min(begin + per_point(), rows_); ++i) {
        if (!std::isfinite(values[i])) continue;
        so_far = count == 0 ? values[i] : join(so_far, values[i]);
        ++count;
      }
      joined.push_back(mean ? so_far / count : so_far);
    }
    return joined;
  }

  std::size_t rows_ = 0;
  std::vector<std::pair<std::string, std::vector<double>>> columns_;
};

struct Place {
  const std::string& path;
  std::size_t line;
  [[noreturn]] void fail(const std::string& what) const {
    throw Error("\"" + path + "\" line " + std::to_string(line) + ": " + what);
  }
};

nlohmann::json parsed(std::string_view line) {
  const auto shallow = [](int depth, nlohmann::json::parse_event_t, nlohmann::json&) { return depth <= 16; };
  return nlohmann::json::parse(line, shallow, false);
}

std::string excerpt(std::string_view line) {
  return Json(std::string(line.substr(0, 40))).dump(-1, ' ', false, Json::error_handler_t::replace);
}

void check_line(const nlohmann::json& line, std::string_view text, double before, const Place& place) {
  if (!line.is_object()) place.fail("expected a JSON object, got " + excerpt(text));
  if (!line.contains("step") || !line["step"].is_number_integer())
    place.fail("expected \"step\" to be a whole number, got " + excerpt(text));
  if (line["step"].get<double>() < before && !line.contains("test_loss"))
    place.fail("step " + line["step"].dump() + " comes after a later step");
  const auto check = [&](const char* field) {
    if (line.contains(field) && !line[field].is_number() && !line[field].is_null())
      place.fail("expected \"" + std::string(field) + "\" to be a number, got " +
                 line[field].dump(-1, ' ', false, nlohmann::json::error_handler_t::replace).substr(0, 40));
  };
  for (const char* field : training_fields) check(field);
  for (const char* field : evaluation_fields) check(field);
}

// Returns the best evaluation by the rule of a run. If several are equally good, it is the first.
Json best_of(const Table& evaluations, const Criterion& best_by) {
  const auto* losses = evaluations.find("validation_loss");
  const auto* metrics = evaluations.find(best_by.metric);
  if (losses == nullptr) return nullptr;
  const auto is_better = [&](std::size_t i, std::size_t best) {
    if (metrics != nullptr && (*metrics)[i] != (*metrics)[best])
      return best_by.lower_is_better ? (*metrics)[i] < (*metrics)[best] : (*metrics)[i] > (*metrics)[best];
    return (*losses)[i] < (*losses)[best];
  };
  std::size_t best = losses->size();
  for (std::size_t i = 0; i < losses->size(); ++i)
    if (std::isfinite((*losses)[i]) && (best == losses->size() || is_better(i, best))) best = i;
  return best == losses->size() ? Json(nullptr) : evaluations.row(best);
}

Json last_of(const Table& table, const std::string& name) {
  const auto* values = table.find(name);
  if (values == nullptr) return nullptr;
  const auto last = std::find_if(values->rbegin(), values->rend(), [](double v) { return std::isfinite(v); });
  return last == values->rend() ? Json(nullptr) : number(*last);
}

}  // namespace

Json parse_metrics(const std::string& text, const std::string& path, const Criterion& best_by) {
  Table training, evaluations, tests;
  double step = -std::numeric_limits<double>::infinity(), seconds = 0;
  std::size_t number_of_line = 0, no_loss = 0;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const std::string_view written = std::string_view(text).substr(begin, end - begin);
    begin = end + 1;
    ++number_of_line;
    const nlohmann::json line = parsed(written);
    if (end == text.size() && !line.is_object()) break;  // the last line was not written completely
    check_line(line, written, step, {path, number_of_line});
    if (line.contains("test_loss")) {
      tests.add(line, seconds);
      continue;
    }
    step = line["step"].get<double>();
    if (!has_any(line, training_fields)) {
      evaluations.add(line, seconds);
      continue;
    }
    if (line.contains("seconds") && line["seconds"].is_number()) seconds = line["seconds"].get<double>();
    training.add(line, none);
    no_loss += line.contains("loss") && !line["loss"].is_number();
  }
  Json metrics{{"training", training.drawn()}, {"evaluations", evaluations.drawn()}};
  metrics["last_step"] = number(step);
  metrics["no_loss"] = no_loss;
  metrics["best"] = best_of(evaluations, best_by);
  metrics["test"] = tests.empty() ? Json(nullptr) : tests.row(0);
  for (const char* field : {"tokens_per_second", "seconds"}) metrics[field] = last_of(training, field);
  return metrics;
}

Json read_metrics(const std::string& path, const Criterion& best_by) {
  return parse_metrics(std::filesystem::exists(path) ? weft::os::read_file(path) : "", path, best_by);
}

}  // namespace report
