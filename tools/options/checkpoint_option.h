// The checkpoint that a command uses. The first argument is the folder of a run or of a checkpoint.
#pragma once
#include <weft/checkpoint.h>

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <string>

struct CheckpointOption {
  std::string folder, which;
  std::optional<weft::Precision> precision;  // without a value, the model keeps its precision
  std::optional<std::int64_t> pad_to;        // without a value, rows are padded as in training
  bool copy = false;                         // whether to read the weights into memory instead of mapping the file

  void add_to(CLI::App& command);
  void add_precision_to(CLI::App& command);
  void add_pad_to(CLI::App& command);
  void add_copy_to(CLI::App& command);
  bool given() const { return !folder.empty() || !which.empty(); }
  std::string path() const;       // the checkpoint's folder; throws a UsageError if none is given
  weft::Checkpoint load() const;  // for inference, with these settings
};

// Returns the text of run.json if the checkpoint is in the folder of a run, else "".
std::string run_of(const std::string& checkpoint);
