// Writes and reads run.json, which contains all settings of a run, so that it can be resumed and repeated.
#pragma once
#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "options/run_file.h"
#include "train/train_data.h"
#include "train/train_options.h"

// Returns the run.json of a run. It has the values of all options of `command`, whether given, chosen in `o` or
// default. Its sections are named after the groups of the options. It also describes the model, the columns of the
// text, if there are any, this machine and the number of ranks. Paths are absolute.
std::string describe_run(const CLI::App& command, const TrainOptions& o, const Training& training,
                         const weft::Trainer& trainer);

// Sets the options to the values in run.json, as if these had been given on the command line. Options that are given
// keep their values. Options in run.json that a given option excludes are ignored. The model is not set, because
// ModelOptions reads it. Settings in `except` are left out. Throws an Error that names `path` if describe_run can't
// have written the text.
void apply_run(CLI::App& command, const std::string& json, const std::string& path,
               const std::vector<std::string>& except = {});

// If an earlier version of weft wrote run.json, a rule of that version may still apply when the run is continued or
// repeated. Returns a line that describes this rule, or "" if there is none.
std::string describe_former(const std::string& json);

// Throws a UsageError if an option is given but another option, without which it has no effect, is missing.
void check_partners(const CLI::App& command);
