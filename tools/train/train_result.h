// What weft train prints at the end of a run, and the run's test.
#pragma once
#include <weft/trainer.h>

#include <optional>

#include "train/train_data.h"
#include "train/train_options.h"

// Measures the best checkpoint on the test data, if there are any. If a signal asks to stop, it says so and returns
// nothing.
std::optional<weft::TestResult> measure_test(const weft::RunFolder& folder, const Training& training,
                                             const TrainOptions& o);

// Prints "test loss 0.3412 at step 500", the other metrics, and labels that are never predicted.
void print_test(const weft::TestResult& test, const Training& training);

// Prints all results of a run that has now taken `steps` steps. test: none if the run has none.
void print_result(const weft::Trainer& trainer, const weft::RunResult& result, const TrainOptions& o,
                  const Training& training, std::int64_t steps, const std::optional<weft::TestResult>& test);

// Prints a line for each fold's test, and the mean and standard deviation (of a sample: n - 1) of each figure.
void print_folds(const std::vector<weft::TestResult>& tests);
