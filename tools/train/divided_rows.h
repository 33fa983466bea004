// Labeled texts, divided into training, validation and test by the options of weft train.
#pragma once
#include <weft/labelled_texts.h>
#include <weft/task.h>

#include <string>
#include <vector>

#include "train/train_options.h"

struct DividedRows {
  weft::LabelledTexts training, validation, test;  // test: empty if there is none
  std::vector<std::string> notes;                  // on each file, and on how the rows are divided
};

// labels: the labels that a model knows, in its order; empty: the labels that occur. For a task other than the
// classifier, labels are targets (weft/target_rows.h), of which each part may have its own.
DividedRows divided_rows(const TrainOptions& o, weft::Task task, const std::vector<std::string>& labels = {});

// "a, b and 3 more", without control characters.
std::string some_labels(const std::vector<std::string>& names);
