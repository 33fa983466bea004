// What a run's model does: a text that it continues, symbols that it fills in, or the rows that it takes for others.
#pragma once
#include <weft/classifier.h>
#include <weft/data.h>
#include <weft/labelled_texts.h>

#include <cstdint>

#include "report/json.h"

namespace report {

struct SampleOptions {
  std::int64_t tokens = 300;  // of a text
  std::uint64_t seed = 1;     // of its choices
  std::int64_t rows = 10000;  // of a classifier, at most
};

// Of training; of a checkpoint that doesn't say it the model's usual length.
std::int64_t sequence_length(const weft::Checkpoint& checkpoint);

// The validation data that run.json names, for a model that predicts labels or masked symbols.
struct Validation {
  std::unique_ptr<weft::Data> data;
  weft::LabelledTexts rows;  // of a classifier: those of data
  std::int64_t of = 0;       // of how many rows these were taken
  bool changed = false;      // the file isn't what the run was trained on
};
// Error, naming the file, if it is gone or can't be read. At most `rows` rows, evenly spread.
Validation load_validation(const nlohmann::json& run, const std::string& folder, const weft::Checkpoint& checkpoint,
                           std::int64_t rows);

// A causal language model's: {"kind": "text", "text", "tokens", "temperature", "seed"}.
Json text_sample(const weft::Checkpoint& checkpoint, const SampleOptions& options);

// A masked language model's: {"kind": "masked", "right", "masked", "windows": [[{"text", "given"?}]]}: the text as it is,
// and what the model gave where it was hidden.
Json masked_sample(const weft::Checkpoint& checkpoint, const Validation& validation);

// A classifier's: {"kind": "confusion", "labels", "counts", "scores", "macro", "accuracy", "rows", "of",
// "examples": [{"actual", "predicted", "probability", "text"}]}, the examples those of the highest probability.
Json confusion_sample(const weft::Classifier& classifier, const Validation& validation);

}  // namespace report
