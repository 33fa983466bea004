// Labelled texts for training, validation and a test, as the options of weft train divide them.
#pragma once
#include <weft/labelled_texts.h>

#include <string>
#include <vector>

#include "train/train_options.h"

struct DividedRows {
  weft::LabelledTexts training, validation, test;  // test: of no rows if there is none
  std::vector<std::string> notes;                  // on each file, and on what is for what
};

// labels: that a model knows, in its order; none: those that occur.
DividedRows divided_rows(const TrainOptions& o, const std::vector<std::string>& labels = {});

// "a, b and 3 more", without control characters.
std::string some_labels(const std::vector<std::string>& names);
