// The checkpoint that a command uses. The first argument is the folder of a run or of a checkpoint.
#pragma once
#include <weft/checkpoint.h>

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <string>

struct CheckpointOption {
  std::string folder, which;
  std::optional<weft::Precision> precision;  // none: as loaded
  std::optional<std::int64_t> pad_to;        // none: as in training
  bool copy = false;                         // copies the weights, which otherwise stay in the file

  void add_to(CLI::App& command);
  void add_precision_to(CLI::App& command);
  void add_pad_to(CLI::App& command);
  void add_copy_to(CLI::App& command);
  bool given() const { return !folder.empty() || !which.empty(); }
  std::string path() const;       // the checkpoint's folder; UsageError if none is given
  weft::Checkpoint load() const;  // for inference, with these settings
};

// The run.json of the run in whose folder the checkpoint lies; empty if there is none.
std::string run_of(const std::string& checkpoint);
