// metrics.jsonl in a run's folder: {"step":1,"loss":…,…} for each step, {"step":500,"validation_loss":…,…} for each
// evaluation; {"step":500,"test_loss":…,…} of the best step when the run has ended.
#pragma once
#include <string>

#include "weft/trainer.h"

namespace weft::detail {

// The file of a run that goes on after `step`.
class Metrics {
 public:
  // Cuts off what a run that was killed wrote after its last save: lines of later steps, and the evaluation after that
  // step, which follows anew.
  Metrics(const std::string& path, std::int64_t step);
  Metrics() = default;  // no file
  void add(const Progress& progress, double seconds);
  void add(std::int64_t step, const Evaluation& evaluation);
  static void add_test(const std::string& path, std::int64_t step, const Evaluation& evaluation);
  static bool has_test(const std::string& path);

 private:
  std::string path_;
  double seconds_ = 0;  // that the steps took that are in the file
};

}  // namespace weft::detail
