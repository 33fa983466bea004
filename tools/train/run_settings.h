// run.json: every setting of a run, by which it can be resumed and repeated.
#pragma once
#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "options/run_file.h"
#include "train/train_data.h"
#include "train/train_options.h"

// The options of `command`, given, chosen in `o` or by default, in sections named for their groups; the model; the text's columns, if
// there are some; this machine, and how many ranks. Paths are absolute.
std::string describe_run(const CLI::App& command, const TrainOptions& o, const Training& training,
                         const weft::Trainer& trainer);

// Sets the options that the run.json has, as if they had been given: those that are given stay, and put out those that
// exclude them. The model is read by ModelOptions, and of the settings those in `but` are left out. Error, naming `path`,
// if it isn't what describe_run gives.
void apply_run(CLI::App& command, const std::string& json, const std::string& path,
               const std::vector<std::string>& but = {});

// By which rule a run of an earlier weft goes on, or is repeated, if its run.json says nothing of one; else empty.
std::string describe_former(const std::string& json);

// UsageError for an option that is given and has no use without another.
void check_partners(const CLI::App& command);
