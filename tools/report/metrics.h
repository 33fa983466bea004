// A run's metrics.jsonl as curves.
#pragma once
#include <string>

#include "report/json.h"

namespace report {

// {"training", "evaluations": {"step": […], "seconds": […], …}, "last_step", "no_loss", "best", "test",
// "tokens_per_second", "seconds"}. A curve has no more points than can be seen. A point is the mean of several steps;
// the training loss also has "low" and "high". null means that there is no number. "best" is the evaluation with the
// lowest loss, or with the highest value of the metric `best_by`; "test" is what was measured at the run's end, or
// null; "no_loss" is the number of training lines whose loss is not finite.
// What is missing in the file is missing here. A truncated last line, which a killed run may leave, is ignored. Error,
// naming the file and the line, for anything else that isn't a line of a run.
Json read_metrics(const std::string& path, const std::string& best_by = "loss");

// The same from the file's text, which `path` names.
Json parse_metrics(const std::string& text, const std::string& path, const std::string& best_by = "loss");

}  // namespace report
