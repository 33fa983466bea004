// One training run among several that are compared.
#pragma once
#include <weft/labelled_texts.h>
#include <weft/trainer.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

struct TrialLimits {
  std::int64_t bytes = 0;                            // of the checkpoint in 8 bits; 0: it isn't quantized
  std::function<bool(const weft::Progress&)> go_on;  // called after each step; false cuts the trial off
};

struct TrialResult {
  std::optional<double> score;  // of the validation; higher is better. None if the trial was cut off or is too large
  std::string text;             // "accuracy 91.20 %", or why there is no score
  std::string checkpoint;       // the folder of the run's best checkpoint, or of that in 8 bits
};

// What the rows of --data are.
struct TrialRows {
  weft::Task task;
  weft::RowContent content;
};

// Reads the rows that these options of weft train name. UsageError for what weft train refuses.
TrialRows rows_of_trials(const std::vector<std::string>& options);

// Trains in the folder of --out, whose content is removed. The score is that of --best-by.
TrialResult run_trial(const std::vector<std::string>& options, const TrialLimits& limits);

// Measures a trial's checkpoint on the test rows of `options`, which must have --test.
weft::Evaluation test_trial(const std::vector<std::string>& options, const std::string& checkpoint);
