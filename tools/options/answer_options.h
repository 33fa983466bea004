// What weft classify and weft fill-mask share: a checkpoint, lines of text, and how many answers are shown.
#pragma once
#include <weft/checkpoint.h>

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>

#include "options/checkpoint_option.h"

struct AnswerOptions {
  CheckpointOption checkpoint;
  std::string file = "-";
  std::int64_t top;  // by default
  double threshold = 0;
  bool json = false;

  explicit AnswerOptions(std::int64_t usual_top) : top(usual_top) {}
  // texts: what the file holds; answers: "labels" or "symbols" of a line; as_json: what --json gives for each line.
  void add_to(CLI::App& command, const std::string& texts, const std::string& answers, const std::string& as_json);
};
