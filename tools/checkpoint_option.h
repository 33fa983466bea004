// Which checkpoint a command takes: DIR is a run's folder, or a checkpoint's.
#pragma once
#include <CLI/CLI.hpp>
#include <string>
#include <vector>

struct CheckpointOption {
  std::string folder, which;

  // Gives both options.
  std::vector<CLI::Option*> add_to(CLI::App& command);
  void require() const;  // CLI::RequiredError if there is none
  bool given() const { return !folder.empty() || !which.empty(); }
  std::string path() const;  // of the checkpoint's folder
};
