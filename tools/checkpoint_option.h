// Which checkpoint a command takes: the first argument is a run's folder, or a checkpoint's.
#pragma once
#include <CLI/CLI.hpp>
#include <string>

struct CheckpointOption {
  std::string folder, which;

  void add_to(CLI::App& command);
  bool given() const { return !folder.empty() || !which.empty(); }
  std::string path() const;  // of the checkpoint's folder; UsageError if none is given
};
