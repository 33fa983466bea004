/// \file
/// fit: trains a new model with one call, on labeled rows, a text or a series in memory.
#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "weft/data.h"
#include "weft/labelled_texts.h"
#include "weft/pictures.h"
#include "weft/series.h"
#include "weft/trainer.h"

#pragma GCC visibility push(default)
namespace weft {

/// The usual length of a run. Few data need many passes, but not endlessly many.
struct UsualSteps {
  double epochs = 5;         ///< passes over the data
  double least = 1000;       ///< steps, but not more than most_epochs
  double most_epochs = 100;  ///< see `least`
  double most = 20000;       ///< steps, but at least one epoch if whole_epoch is set
  bool whole_epoch = true;   ///< false for texts, which may be so long that nobody would wait for an epoch
  /// Those for a text.
  static UsualSteps of_text() {
    UsualSteps steps;
    steps.least = 2000;
    steps.whole_epoch = false;
    return steps;
  }
  /// The steps, not rounded, for data of `epoch` steps an epoch.
  double of(double epoch) const noexcept;
};

/// What fit() makes and how it trains, by the names of `weft train`.
struct FitOptions {
  std::string arch = "tnn";       ///< of the model, a name of architectures()
  Task task = Task::classifier;   ///< what the model predicts
  std::string config = "{}";      ///< the architecture's options, a JSON object
  std::string precision = "f32";  ///< of the computation: "f32" or "bf16"
  /// Of texts, a name of learn_tokenizer(). Empty: "words"; for tagging "whitespace", for language models "characters".
  std::string tokenizer = {};
  std::int64_t vocabulary_size = 20000;  ///< the most symbols of the tokenizer
  std::int64_t min_count = 2;            ///< words that are rarer than this are unknown
  /// Of sequences, windows of a text or of a series. 0: the architecture's, the longest row of numbers, or usual_length.
  std::int64_t length = 0;
  static constexpr std::int64_t usual_length = 64;  ///< see `length`
  std::int64_t dimensions = 128;                    ///< of the vectors of a retrieval
  std::int64_t patch = 0;                           ///< of pictures, see InputSpec; 0: usual_patch()
  Augmentation augmentation = {};                   ///< of pictures
  std::string balance = "none";                     ///< of classes: "none", "weights" or "rows"
  std::int64_t batch = 32;                          ///< rows, or windows of a text or a series, in a step
  std::optional<std::int64_t> steps;                ///< of the run; none: from epochs
  std::optional<double> epochs;                     ///< above 0; none: UsualSteps
  std::string schedule = "cosine";                  ///< of the learning rate, a name of schedules()
  double lr = 1e-3;                                 ///< the highest learning rate
  std::int64_t warmup = 100;                        ///< steps until it is reached
  OptimizerOptions optimizer = {};                  ///< by name, with its options
  double label_smoothing = 0;                       ///< as in TrainOptions
  double ema = 0;                                   ///< as in TrainOptions
  std::uint64_t seed = 1;                           ///< of parameters and batches
};

/// Trains a new model on these rows, chooses its best checkpoint by the validation rows, and saves both in run.folder.
/// Labels are names; numbers, several labels and tags are written as weft/target_rows.h reads them, and those of a
/// retrieval are texts. If run.eval_every is 0, there are ten evaluations, or one every 500 steps.
/// Throws an Error for options or rows that don't fit, and whatever Trainer::run throws.
RunResult fit(LabelledTexts training, LabelledTexts validation, const FitOptions& options, RunOptions run);

/// Trains a language model, causal or masked, on windows of a text, and chooses its best checkpoint by the validation
/// part of the split. Throws an Error for options that don't fit, as TextData does for the text, and whatever
/// Trainer::run throws.
RunResult fit(const std::string& text, const TextSplit& split, const FitOptions& options, RunOptions run);

/// Trains a forecast (Task::forecast) on windows of a series. Of `forecast` it uses the columns, the horizon, the season
/// and Huber's delta; length and batch are those of the options. Throws an Error for options that don't fit, as
/// forecast_data does for the series, and whatever Trainer::run throws.
RunResult fit(const Series& series, const ForecastOptions& forecast, const TextSplit& split, const FitOptions& options,
              RunOptions run);

}  // namespace weft
#pragma GCC visibility pop
