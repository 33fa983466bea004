// Divides labeled rows into a training, a validation and a test set, according to the options of weft train.
#pragma once
#include <weft/labeled_texts.h>
#include <weft/task.h>

#include <string>
#include <vector>

#include "train/train_options.h"

struct DividedRows {
  weft::LabeledTexts training, validation, test;  // test: empty if there is none
  std::vector<std::string> notes;                 // lines to print about each file, and about how the rows are divided
};

// `labels` are the labels that a model knows, in its order. If it is empty, the labels that occur in the data are used.
// For tasks other than classifier, `labels` is ignored, and the validation and test sets may contain labels that do not
// occur in the training set.
DividedRows divided_rows(const TrainOptions& o, weft::Task task, const std::vector<std::string>& labels = {});

// Lists labels as "a, b and 3 more", without control characters.
std::string some_labels(const std::vector<std::string>& names);
