// The model that weft train trains, and its data.
#pragma once
#include <weft/data.h>
#include <weft/model.h>

#include <memory>

#include "train/train_options.h"
#include "train/train_steps.h"

struct Training {
  std::unique_ptr<weft::Model> model;
  std::unique_ptr<weft::Data> data;
  std::unique_ptr<weft::Data> test;  // data to measure at the end; null if there are none
  TrainingSize size;
  std::vector<std::string> new_parameters;  // with --from: parameters that the checkpoint lacks
  std::vector<std::string> columns;         // columns of the text, for rows
  std::vector<std::string> second_columns;  // of the second text, for pairs
  std::vector<std::string> notes;           // on the data
};

// Error unless either a text or rows are given, and not both.
void check_source(const TrainOptions& o);
// Loads model and data. Error unless a text or rows are given and the task learns from them.
Training load_training(const TrainOptions& o);
// Chooses the number of steps, the given one or one that depends on the size of the data, and how often to validate.
void choose_steps(TrainOptions& o, Training& training);
