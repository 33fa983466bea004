/// \file
/// fit: trains a new model on labeled rows in memory, with one call.
#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "weft/labelled_texts.h"
#include "weft/pictures.h"
#include "weft/trainer.h"

#pragma GCC visibility push(default)
namespace weft {

/// What fit() makes and how it trains, by the names of `weft train`.
struct FitOptions {
  std::string arch = "tnn";       ///< of the model, a name of architectures()
  Task task = Task::classifier;   ///< classifier, regression, multilabel, tagging or retrieval
  std::string config = "{}";      ///< the architecture's options, a JSON object
  std::string precision = "f32";  ///< of the computation: "f32" or "bf16"
  std::string tokenizer = {};     ///< of texts, a name of learn_tokenizer(); empty: "words", tagging "whitespace"
  std::int64_t vocabulary_size = 20000;  ///< the most symbols of the tokenizer
  std::int64_t min_count = 2;            ///< words that are rarer than this are unknown
  std::int64_t length = 0;               ///< of sequences; 0: the architecture's, the longest row of numbers, or 64
  std::int64_t dimensions = 128;         ///< of the vectors of a retrieval
  std::int64_t patch = 0;                ///< of pictures, see InputSpec; 0: usual_patch()
  Augmentation augmentation = {};        ///< of pictures
  std::string balance = "none";          ///< of classes: "none", "weights" or "rows"
  std::int64_t batch = 32;               ///< rows of a step
  std::optional<std::int64_t> steps;     ///< of the run; none: from epochs
  std::optional<double> epochs;          ///< none: 5, but at least 1000 steps, or 100 epochs if that is less
  std::string schedule = "cosine";       ///< of the learning rate, a name of schedules()
  double lr = 1e-3;                      ///< the highest learning rate
  std::int64_t warmup = 100;             ///< steps until it is reached
  OptimizerOptions optimizer = {};       ///< by name, with its options
  double label_smoothing = 0;            ///< as in TrainOptions
  double ema = 0;                        ///< as in TrainOptions
  std::uint64_t seed = 1;                ///< of parameters and batches
};

/// Trains a new model on these rows, chooses its best checkpoint by the validation rows, and saves both in run.folder.
/// Labels are names; numbers, several labels and tags are written as weft/target_rows.h reads them, and those of a
/// retrieval are texts. If run.eval_every is 0, there are ten evaluations, or one every 500 steps.
/// Throws an Error for options or rows that don't fit, and whatever Trainer::run throws.
RunResult fit(LabelledTexts training, LabelledTexts validation, const FitOptions& options, RunOptions run);

}  // namespace weft
#pragma GCC visibility pop
