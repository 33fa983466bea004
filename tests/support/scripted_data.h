// Training data whose evaluations give the results that a test prescribes.
#pragma once
#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "temporary_folder.h"
#include "train_support.h"
#include "weft/data.h"

namespace weft::test {

// The results of an evaluation.
struct Script {
  Script(double measured, double metric = 0) : loss(measured), right(metric) {}
  double loss, right;
};

// The k-th evaluation gives the k-th loss and the k-th value of the metric "right". Later evaluations repeat the last
// results.
class ScriptedData : public TextData {
 public:
  explicit ScriptedData(std::vector<Script> script)
      : TextData(small_text(), characters(small_text()), Task::causal_lm, 16, 4), script_(std::move(script)) {}
  std::int64_t validation_batches() const noexcept override { return 1; }
  Batch validation(std::int64_t k) const override {
    evaluating_ = true;
    return TextData::validation(k);
  }
  Tensor loss(const Tensor& output, const Batch& batch) const override {
    if (!evaluating_) return TextData::loss(output, batch);
    evaluating_ = false;
    now_ = script_[std::min(static_cast<std::size_t>(evaluations++), script_.size() - 1)];
    return Tensor::full({}, now_.loss, DType::f64);
  }
  std::unique_ptr<Meter> meter() const override {
    struct Right : Meter {
      explicit Right(const Script& script) : now(script) {}
      void add(const Tensor&, const Batch&) override {}
      std::vector<Metric> metrics() const override { return {{"right", now.right}}; }
      const Script& now;
    };
    return std::make_unique<Right>(now_);
  }
  mutable std::int64_t evaluations = 0;

 private:
  std::vector<Script> script_;
  mutable Script now_{0};
  mutable bool evaluating_ = false;  // true from a validation batch until its loss
};

inline std::unique_ptr<Model> small_gmlp() {
  return small_model("gmlp", Task::causal_lm, characters(small_text())->size(), 0, {});
}

// Returns the lines of a run's metrics.jsonl.
inline std::vector<nlohmann::json> metrics_of(const TemporaryFolder& folder, const std::string& run) {
  std::istringstream text(folder.read(run + "/metrics.jsonl"));
  std::vector<nlohmann::json> lines;
  for (std::string line; std::getline(text, line);) lines.push_back(nlohmann::json::parse(line));
  return lines;
}

}  // namespace weft::test
