// Sets options of weft train to the settings of an existing run.
#pragma once
#include <weft/run_folder.h>

#include <CLI/CLI.hpp>
#include <cstdint>
#include <memory>
#include <string>

#include "train/train_options.h"

// Opens the run that --resume names, and applies its settings, except its log, to `command`. Returns the number of
// steps that were planned for the run.
std::int64_t open_run(CLI::App& command, TrainOptions& o, std::unique_ptr<weft::RunFolder>& folder);

// Applies all settings of a run or a recipe except the run's log, which would be overwritten. If other data are given,
// the function also leaves out the format of the run's own data and the paths of its validation and test files. A
// recipe has no such settings.
void repeat_run(CLI::App& command, const std::string& settings, const std::string& path);
