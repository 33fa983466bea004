// Measures the test set at the end of a run, and prints the run's results.
#pragma once
#include <weft/trainer.h>

#include <optional>

#include "train/train_data.h"
#include "train/train_options.h"

// Measures the best checkpoint on the test set, if the run has a test set. If a signal asks to stop, prints a line and
// returns no value.
std::optional<weft::TestResult> measure_test(const weft::RunFolder& folder, const Training& training,
                                             const TrainOptions& o);

// Prints "test loss 0.3412 at step 500", the other metrics, and labels that are never predicted.
void print_test(const weft::TestResult& test, const Training& training);

// Prints all results of a run. `steps` is the number of steps in this process. `test` has no value if the run has no
// test set or if the test was stopped.
void print_result(const weft::Trainer& trainer, const weft::RunResult& result, const TrainOptions& o,
                  const Training& training, std::int64_t steps, const std::optional<weft::TestResult>& test);

// Prints a line with the test result of each fold. Then prints the mean and the sample standard deviation (with n - 1)
// of each metric over the folds.
void print_folds(const std::vector<weft::TestResult>& tests);
