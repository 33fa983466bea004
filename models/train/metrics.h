// metrics.jsonl in a run's folder. It has a line {"step":1,"loss":…,…} for each step,
// {"step":500,"validation_loss":…,…} for each evaluation, and, at the end of the run, {"step":500,"test_loss":…,…} for
// the test of the best step.
#pragma once
#include <string>

#include "weft/trainer.h"

namespace weft::detail {

// The metrics file of a run that continues after `step`.
class Metrics {
 public:
  // Removes the lines that a killed run wrote after its last save. These are the lines of later steps and of the
  // evaluation after `step`, which the run repeats.
  Metrics(const std::string& path, std::int64_t step);
  Metrics() = default;  // no file
  void add(const Progress& progress, double seconds);
  void add(std::int64_t step, const Evaluation& evaluation);
  static void add_test(const std::string& path, std::int64_t step, const Evaluation& evaluation);
  static bool has_test(const std::string& path);

 private:
  std::string path_;
  double seconds_ = 0;  // total duration of the steps that are in the file
};

}  // namespace weft::detail
