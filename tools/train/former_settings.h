// Options of weft train that an existing run brings.
#pragma once
#include <weft/run_folder.h>

#include <CLI/CLI.hpp>
#include <cstdint>
#include <memory>
#include <string>

#include "train/train_options.h"

// Opens the run that --resume names: its settings, except its log, become those of `command`. Returns the number of
// steps that it was to have.
std::int64_t open_run(CLI::App& command, TrainOptions& o, std::unique_ptr<weft::RunFolder>& folder);

// Applies all settings of the run except its log, which would be replaced. With other data, it also leaves out the
// format and the other files of the run's own data; a recipe has none of these.
void repeat_run(CLI::App& command, const std::string& settings, const std::string& path);
