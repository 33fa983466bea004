// Samples of a run's model: a text that it continues, symbols that it fills in, or the rows that it classifies wrongly.
#pragma once
#include <weft/classifier.h>
#include <weft/data.h>
#include <weft/labelled_texts.h>

#include <cstdint>

#include "report/json.h"

namespace report {

struct SampleOptions {
  std::int64_t tokens = 300;  // length of a text
  std::uint64_t seed = 1;     // seed of sampling
  std::int64_t rows = 10000;  // maximum validation rows to predict
};

// The length of the training sequences; if the checkpoint doesn't record it, the model's default.
std::int64_t sequence_length(const weft::Checkpoint& checkpoint);

// The validation data that run.json names, for a model that is not a causal language model. A tagger's data have
// batches of one row.
struct Validation {
  std::unique_ptr<weft::Data> data;
  weft::LabelledTexts rows;  // rows of `data`, unless it is a forecast's; in their order if it has batches of one row
  std::int64_t of = 0;       // number of rows, or windows of a forecast, from which these were taken
  std::int64_t season = 0;   // of a forecast, in rows; 0: none
  bool changed = false;      // whether the file differs from what the run was trained on
};
// Error, naming the file, if it no longer exists or can't be read. Takes at most `rows` rows, evenly spaced.
Validation load_validation(const nlohmann::json& run, const std::string& folder, const weft::Checkpoint& checkpoint,
                           std::int64_t rows);

// For a causal language model: {"kind": "text", "text", "tokens", "temperature", "seed"}.
Json text_sample(const weft::Checkpoint& checkpoint, const SampleOptions& options);

// For a masked language model: {"kind": "masked", "right", "masked", "windows": [[{"text", "given"?}]]}: the original
// text, and the model's prediction where it was masked.
Json masked_sample(const weft::Checkpoint& checkpoint, const Validation& validation);

// For a classifier: {"kind": "confusion", "labels", "counts", "scores", "macro", "accuracy", "rows", "of", "examples":
// [{"actual", "predicted", "probability", "text"}]}. The examples are the errors with the highest probability.
// `probabilities` are those of each row.
Json confusion_sample(const weft::Classifier& classifier, const Validation& validation,
                      const std::vector<std::vector<double>>& probabilities);

// {"height", "width", "channels", "pixels"} of a row that is a picture, where "pixels" is base64 of bytes. Pictures with
// a side above 64 pixels are reduced, by means of square blocks.
Json drawn_picture(const weft::LabelledTexts& rows, std::size_t row);

}  // namespace report
