// What weft train says at the end of a run, and its test.
#pragma once
#include <weft/trainer.h>

#include <optional>

#include "train/train_data.h"
#include "train/train_options.h"

// Measures the best checkpoint on what the run is tested on, if there is something and no signal asks to stop, which is said.
std::optional<weft::TestResult> measure_test(const weft::RunFolder& folder, const Training& training,
                                             const TrainOptions& o);

// "test loss 0.3412 at step 500" and what else was measured; labels that are never predicted.
void print_test(const weft::TestResult& test, const Training& training);

// The whole end of a run that took `steps` now. test: none if it has none.
void print_result(const weft::Trainer& trainer, const weft::RunResult& result, const TrainOptions& o,
                  const Training& training, std::int64_t steps, const std::optional<weft::TestResult>& test);

// A line for each fold's test, and the mean and standard deviation (of a sample: n - 1) of each figure.
void print_folds(const std::vector<weft::TestResult>& tests);
