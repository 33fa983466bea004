// The options that weft classify and weft fill-mask share: a checkpoint, lines of text, and how many results to show.
#pragma once
#include <weft/checkpoint.h>

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>

#include "options/checkpoint_option.h"

struct AnswerOptions {
  CheckpointOption checkpoint;
  std::string file = "-";
  std::int64_t top;  // the constructor sets the default
  double threshold = 0;
  bool json = false;

  explicit AnswerOptions(std::int64_t usual_top) : top(usual_top) {}
  // The arguments become parts of the help. `texts` describes the file, `answers` is "labels" or "symbols per gap", and
  // `as_json` describes --json.
  void add_to(CLI::App& command, const std::string& texts, const std::string& answers, const std::string& as_json);
};
