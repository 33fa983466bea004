// What weft train trains, and on what.
#pragma once
#include <weft/data.h>
#include <weft/model.h>

#include <memory>

#include "train/train_options.h"
#include "train/train_steps.h"

struct Training {
  std::unique_ptr<weft::Model> model;
  std::unique_ptr<weft::Data> data;
  std::unique_ptr<weft::Data> test;  // what is measured at the end; null: nothing
  TrainingSize size;
  std::vector<std::string> new_parameters;  // with --from: those that the checkpoint doesn't have
  std::vector<std::string> columns;         // of rows: those of the text
  std::vector<std::string> notes;           // on the data
};

// Error unless either a text or rows are given.
void check_source(const TrainOptions& o);
// That, and Error unless the task learns from them.
Training load_training(const TrainOptions& o);
