// Loads the model that weft train trains, and its data.
#pragma once
#include <weft/data.h>
#include <weft/model.h>

#include <memory>

#include "train/train_options.h"
#include "train/train_steps.h"

struct Training {
  std::unique_ptr<weft::Model> model;
  std::unique_ptr<weft::Data> data;
  std::unique_ptr<weft::Data> test;  // the test set, which is measured at the end; null if there is none
  TrainingSize size;
  weft::Metric best_by;                     // determines the best checkpoint; without a value
  std::vector<std::string> new_parameters;  // with --from: parameters that the checkpoint lacks
  std::vector<std::string> columns;         // columns of the text, if the data are rows
  std::vector<std::string> second_columns;  // columns of the second text, for pairs
  std::vector<std::string> notes;           // lines to print about the data
};

// Throws a UsageError unless either a text or rows are given, but not both.
void check_source(const TrainOptions& o);
// Loads the model and the data. Throws an Error if no data are given, or if the task can't learn from the given kind of
// data.
Training load_training(const TrainOptions& o);
// If the number of steps isn't given, chooses a number that depends on the size of the data. Also chooses how often to
// validate.
void choose_steps(TrainOptions& o, Training& training);
