// A trial is one of several training runs that weft tune compares.
#pragma once
#include <weft/labeled_texts.h>
#include <weft/trainer.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

struct TrialLimits {
  // The maximum size of the 8-bit version of the checkpoint. 0: there is no limit and no 8-bit version.
  std::int64_t bytes = 0;
  std::function<bool(const weft::Progress&)> go_on;  // called after each step; ends the trial by returning false
};

// Why a trial has no score, if other settings would have the same fault: the checkpoint is larger than the limit, or
// the training would not have ended in time.
enum class Fault { none, too_large, too_slow };

struct TrialResult {
  // The score on the validation set. Higher is better. There is no score if the trial was ended early or is too large.
  std::optional<double> score;
  std::string text;  // "accuracy 91.20 %", or the reason why there is no score
  Fault fault = Fault::none;
  std::string checkpoint;  // the folder of the run's best checkpoint, or of the 8-bit version of this checkpoint
};

// The task and the content of the rows of --data.
struct TrialRows {
  weft::Task task;
  weft::RowContent content;
};

// Reads the rows that these options of weft train name. Throws a UsageError for options that weft train rejects.
TrialRows rows_of_trials(const std::vector<std::string>& options);

// Removes the content of the folder that --out names, and trains a model in this folder. The score is the metric that
// --best-by names.
TrialResult run_trial(const std::vector<std::string>& options, const TrialLimits& limits);

// Measures a trial's checkpoint on the test rows of `options`, which must have --test.
weft::Evaluation test_trial(const std::vector<std::string>& options, const std::string& checkpoint);
