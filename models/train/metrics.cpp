#include "train/metrics.h"

#include <filesystem>
#include <sstream>

#include "base/json.h"
#include "weft/detail/utf8_path.h"
#include "weft/os.h"

namespace weft::detail {
namespace {

using nlohmann::ordered_json;

ordered_json line_of(std::int64_t step, const char* loss, const Evaluation& evaluation) {
  ordered_json line{{"step", step}, {loss, evaluation.loss}, {"predicted", evaluation.predicted}};
  if (const auto bits = evaluation.bits_per_byte()) {
    line["perplexity"] = evaluation.perplexity();
    line["bits_per_byte"] = *bits;
  }
  for (const Metric& metric : evaluation.metrics) line[metric.name] = metric.value;
  return line;
}

nlohmann::json parsed(const std::string& line) {
  try {
    return parse_json(line);
  } catch (const Error&) {
    return nullptr;
  }
}

bool is_test(const nlohmann::json& line) { return line.is_object() && line.contains("test_loss"); }

bool is_kept(const nlohmann::json& line, std::int64_t step) {
  if (!line.is_object() || !line.contains("step") || !line["step"].is_number_integer()) return false;
  const std::int64_t written = line["step"];
  return !is_test(line) && (written < step || (written == step && line.contains("loss")));
}

}  // namespace

Metrics::Metrics(const std::string& path, std::int64_t step) : path_(path) {
  if (!std::filesystem::exists(path_of(path))) return;
  const std::string text = os::read_file(path);
  std::size_t end = 0;
  for (std::size_t next; (next = text.find('\n', end)) != std::string::npos; end = next + 1) {
    const nlohmann::json line = parsed(text.substr(end, next - end));
    if (!is_kept(line, step)) break;
    if (line.contains("seconds") && line["seconds"].is_number()) seconds_ = line["seconds"];
  }
  if (end == text.size()) return;
  std::error_code error;
  std::filesystem::resize_file(path_of(path), end, error);
  if (error) throw Error("can't write \"" + path + "\": " + error.message());
}

bool Metrics::has_test(const std::string& path) {
  if (!std::filesystem::exists(path_of(path))) return false;
  std::istringstream lines(os::read_file(path));
  for (std::string line; std::getline(lines, line);)
    if (is_test(parsed(line))) return true;
  return false;
}

void Metrics::add(const Progress& p, double seconds) {
  if (path_.empty()) return;
  const ordered_json line{{"step", p.step},
                          {"loss", p.loss},
                          {"learning_rate", p.learning_rate},
                          {"gradient_norm", p.gradient_norm},
                          {"tokens_per_second", p.tokens_per_second},
                          {"seconds", seconds_ + seconds},
                          {"data_wait", p.data_wait}};
  os::append(path_, line.dump() + "\n");
}

void Metrics::add(std::int64_t step, const Evaluation& evaluation) {
  if (!path_.empty()) os::append(path_, line_of(step, "validation_loss", evaluation).dump() + "\n");
}

void Metrics::add_test(const std::string& path, std::int64_t step, const Evaluation& evaluation) {
  os::append(path, line_of(step, "test_loss", evaluation).dump() + "\n");
}

}  // namespace weft::detail
