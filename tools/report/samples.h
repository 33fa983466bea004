// Samples of the output of a run's model: a generated text, filled-in symbols, or wrongly classified rows.
#pragma once
#include <weft/classifier.h>
#include <weft/data.h>
#include <weft/labeled_texts.h>

#include <cstdint>

#include "report/json.h"

namespace report {

struct SampleOptions {
  std::int64_t tokens = 300;  // length of a generated text
  std::uint64_t seed = 1;     // seed of the random numbers for sampling
  std::int64_t rows = 10000;  // maximum number of validation rows to predict
};

// Returns the length of the training sequences, or the model's default if the checkpoint doesn't record it.
std::int64_t sequence_length(const weft::Checkpoint& checkpoint);

// The validation data that run.json names, for a model that is not a causal language model. A tagger's data have
// batches of one row.
struct Validation {
  std::unique_ptr<weft::Data> data;
  weft::LabeledTexts rows;  // rows of `data`; empty for a forecast. Batches of one row are in the same order.
  std::int64_t of = 0;      // number of all rows, or windows of a forecast, from which `rows` were taken
  std::int64_t season = 0;  // the season of a forecast, in rows; 0: none
  bool changed = false;     // whether the file has changed since the run began
};
// Takes at most `rows` rows, evenly spaced. Throws an Error that names the data file if it no longer exists or can't be
// read.
Validation load_validation(const nlohmann::json& run, const std::string& folder, const weft::Checkpoint& checkpoint,
                           std::int64_t rows);

// Returns {"kind": "text", "text", "tokens", "temperature", "seed"} for a causal language model.
Json text_sample(const weft::Checkpoint& checkpoint, const SampleOptions& options);

// Returns {"kind": "masked", "right", "masked", "windows": [[{"text", "given"?}]]} for a masked language model. "text"
// is the original text. If it was masked, "given" is the model's prediction.
Json masked_sample(const weft::Checkpoint& checkpoint, const Validation& validation);

// Returns {"kind": "confusion", "labels", "counts", "scores", "macro", "accuracy", "rows", "of", "examples":
// [{"actual", "predicted", "probability", "text"}]} for a classifier. The examples are the errors with the highest
// probability. `probabilities` has the probabilities of all labels for each row.
Json confusion_sample(const weft::Classifier& classifier, const Validation& validation,
                      const std::vector<std::vector<double>>& probabilities);

// Returns {"height", "width", "channels", "pixels"} for a row that is a picture. "pixels" has one byte for each pixel
// and channel, in base64. If a side is longer than 64 pixels, each pixel is the mean of a square block of pixels.
Json drawn_picture(const weft::LabeledTexts& rows, std::size_t row);

}  // namespace report
