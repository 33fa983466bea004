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

// Error, saying what is there instead, unless the folder is a run's.
void check_run(const std::string& folder);

// run.json of a run's folder. Error, naming it, if it is damaged.
nlohmann::json read_description(const std::string& folder);

// {"name", "folder", "arch", "task", "steps", "settings": {"section: name": text}, "metrics", "notes": [text]} and, of
// its best checkpoint (the last one if there is none), "checkpoint", "sample", "learned", "mixing": null where there is
// nothing to show, and then a note says why. Error if run.json or metrics.jsonl is damaged, naming file and line.
Json read_run(const std::string& folder, const std::string& name, const RunOptions& options);

// Names that tell the folders apart: their last part, or as they are where two have the same.
std::vector<std::string> run_names(const std::vector<std::string>& folders);

}  // namespace report
