// One run of a report.
#pragma once
#include <string>

#include "report/json.h"
#include "report/samples.h"

namespace report {

struct RunOptions {
  SampleOptions sample;
  bool curves_only = false;  // no model is loaded
};

// Error, saying what was found instead, unless the folder is a run's.
void check_run(const std::string& folder);

// The run.json of a run's folder. Error, naming the file, if it is damaged.
nlohmann::json read_description(const std::string& folder);

// {"name", "folder", "arch", "task", "steps", "settings": {"section: name": text}, "metrics", "notes": [text]} and, for
// its best checkpoint (or the last one if there is no best), "checkpoint", "sample", "predictions", "learned", "mixing". These
// are null where there is nothing to show, and a note says why. Error, naming file and line, if run.json or metrics.jsonl
// is damaged.
Json read_run(const std::string& folder, const std::string& name, const RunOptions& options);

// Distinct names of the folders: the last part of the path, or the path as given if several have the same last part.
std::vector<std::string> run_names(const std::vector<std::string>& folders);

}  // namespace report
