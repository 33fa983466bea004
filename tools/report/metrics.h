// Makes curves from a run's metrics.jsonl.
#pragma once
#include <string>

#include "report/json.h"

namespace report {

// What determines the best evaluation: the loss, or a metric and, among equal values, the loss.
struct Criterion {
  std::string metric = "loss";
  bool lower_is_better = true;
};

// Returns {"training", "evaluations": {"step": […], "seconds": […], …}, "last_step", "no_loss", "best", "test",
// "tokens_per_second", "seconds"}. A curve has no more points than can be seen. A point may be the mean of several
// steps. In that case the training loss also has "low" and "high". A null stands for a missing number.
// "best" is the best evaluation by the criterion. "test" is the result on the test set at the end of the run, or null.
// "no_loss" is the number of training lines whose loss is not finite. Columns that are missing in the file are missing
// in the result, too. A truncated last line, which a killed run may leave, is ignored. If any other line is not one that
// a run writes, throws an Error that names the file and the line.
Json read_metrics(const std::string& path, const Criterion& best_by = {});

// Does the same for the text of a file. `path` is the name of the file, for messages.
Json parse_metrics(const std::string& text, const std::string& path, const Criterion& best_by = {});

}  // namespace report
