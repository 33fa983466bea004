// run.json: all settings of a run, with which it can be resumed and repeated.
#pragma once
#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "options/run_file.h"
#include "train/train_data.h"
#include "train/train_options.h"

// Describes a run: the options of `command` (given, chosen in `o`, or default), in sections named after their groups;
// the model; the columns of the text, if there are any; this machine and the number of ranks. Paths are absolute.
std::string describe_run(const CLI::App& command, const TrainOptions& o, const Training& training,
                         const weft::Trainer& trainer);

// Sets the options that the run.json has, as if they had been given. Options that are given keep their values, and the
// run.json's options that they exclude are dropped. ModelOptions reads the model. Settings in `except` are left out.
// Error, naming `path`, if it isn't the result of describe_run.
void apply_run(CLI::App& command, const std::string& json, const std::string& path,
               const std::vector<std::string>& except = {});

// The rule by which a run of an earlier weft continues or is repeated, if its run.json names none; else empty.
std::string describe_former(const std::string& json);

// UsageError for a given option that has no use without another one.
void check_partners(const CLI::App& command);
