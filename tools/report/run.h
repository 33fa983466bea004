// What a report shows about one training run.
#pragma once
#include <string>

#include "report/json.h"
#include "report/samples.h"

namespace report {

struct RunOptions {
  SampleOptions sample;
  bool curves_only = false;  // whether only curves are shown, so that no model is loaded
};

// Throws an Error if the folder is not the folder of a run. The Error says what was found instead.
void check_run(const std::string& folder);

// Reads the run.json in a run's folder. Throws an Error that names the file if it is damaged.
nlohmann::json read_description(const std::string& folder);

// Returns {"name", "folder", "arch", "task", "steps", "settings": {"section: name": text}, "metrics", "notes": [text]},
// and "checkpoint", "sample", "predictions", "learned" and "mixing" of the run's best checkpoint, or of its last
// checkpoint if there is no best one. Each of these five entries is null if there is nothing to show, and a note gives
// the reason. If run.json or metrics.jsonl is damaged, throws an Error that names the file and the line.
Json read_run(const std::string& folder, const std::string& name, const RunOptions& options);

// Returns a distinct name for each folder. The name is the last part of the path, or the whole path if several folders
// have the same last part.
std::vector<std::string> run_names(const std::vector<std::string>& folders);

}  // namespace report
