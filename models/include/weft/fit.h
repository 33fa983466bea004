/// \file
/// fit: trains a new model with one call, from labeled rows, a text or a time series in memory.
#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "weft/data.h"
#include "weft/labeled_texts.h"
#include "weft/pictures.h"
#include "weft/series.h"
#include "weft/trainer.h"
#include "weft/visibility.h"

WEFT_PUBLIC_BEGIN
namespace weft {

/// The default number of steps of a run. A small training set needs many epochs, but their number is limited.
struct UsualSteps {
  double epochs = 5;         ///< passes over the data
  double least = 1000;       ///< minimum number of steps, unless these are more than most_epochs epochs
  double most_epochs = 100;  ///< maximum number of epochs that `least` can cause
  double most = 20000;       ///< maximum number of steps, see whole_epoch
  bool whole_epoch = true;   ///< allows one epoch even if it has more steps than `most`; false for texts
  /// The defaults for a text.
  static UsualSteps of_text() {
    UsualSteps steps;
    steps.least = 2000;
    steps.whole_epoch = false;
    return steps;
  }
  /// Returns the number of steps, not rounded, for a training set with `epoch` steps in an epoch.
  double of(double epoch) const noexcept;
};

/// The default peak learning rate: 2e-3 for a text and 1e-3 for other data, multiplied by the optimizer's
/// OptimizerInfo::rate. For the schedule noam it is 1, a factor.
double usual_rate(Source source, const std::string& optimizer, ScheduleKind schedule);

/// What fit() makes and how it trains. The options have the names of the options of `weft train`.
struct FitOptions {
  std::string arch = "tnn";       ///< the model's architecture, one of architectures()
  Task task = Task::classifier;   ///< what the model predicts
  std::string config = "{}";      ///< the options of the architecture, a JSON object
  std::string precision = "f32";  ///< the precision of the computation: "f32" or "bf16"
  /// The kind of the tokenizer that is learned from the texts, one of tokenizer_kinds(). If empty, it is "whitespace"
  /// for tagging, "characters" for language models, and "words" for all other tasks.
  std::string tokenizer = {};
  std::int64_t vocabulary_size = 20000;  ///< the maximum number of symbols of the tokenizer
  std::int64_t min_count = 2;            ///< a word that occurs less often becomes the unknown symbol
  /// The maximum length of a sequence, or the length of the windows of a text or a time series. If 0, it is the
  /// architecture's maximum length. If the architecture has none, it is the length of the longest row of numbers, or
  /// usual_length for texts. For a time series, 0 always means usual_length.
  std::int64_t length = 0;
  static constexpr std::int64_t usual_length = 64;  ///< see `length`
  std::int64_t dimensions = 128;                    ///< retrieval: the number of elements of a text's vector
  std::int64_t patch = 0;                           ///< pictures: the side of a patch, see InputSpec; 0: usual_patch()
  Augmentation augmentation = {};                   ///< pictures: random changes in training
  std::string balance = "none";       ///< how rare classes are balanced: "none", "weights" or "rows", see Balance
  std::int64_t batch = 32;            ///< rows, or windows of a text or a time series, in a step
  std::optional<std::int64_t> steps;  ///< the number of steps of the run; no value: computed from `epochs`
  std::optional<double> epochs;       ///< the length of the run in epochs, above 0; no value: UsualSteps determines it
  std::string schedule = "cosine";    ///< the schedule of the learning rate, one of schedules()
  std::optional<double> lr;           ///< the highest learning rate, or a factor for "noam"; no value: usual_rate()
  std::int64_t warmup = 100;          ///< the number of steps in which the learning rate rises to `lr`
  OptimizerOptions optimizer = {};    ///< the optimizer's name and options
  double label_smoothing = 0;         ///< see TrainOptions
  double ema = 0;                     ///< see TrainOptions
  std::optional<Quantization> fake_quant = {};  ///< see TrainOptions
  std::uint64_t seed = 1;                       ///< the seed of the initial parameters and of the batches
};

/// Trains a new model on the training set and selects its best checkpoint with the validation set. The function saves
/// the last and the best checkpoint in run.folder. For classification, a label is the name of a class. For regression,
/// multilabel and tagging, weft/target_rows.h describes the format of labels. For retrieval, a label is a text. If
/// run.eval_every is 0, the run evaluates ten times, or every 500 steps if that is more often. Throws an Error if the
/// options or the rows are invalid, and the Errors of Trainer::run.
RunResult fit(LabeledTexts training, LabeledTexts validation, const FitOptions& options, RunOptions run);

/// Trains a causal or masked language model on windows of a text. The function selects the best checkpoint with the
/// validation set of the split. Throws an Error if the options are invalid, and the Errors of TextData and
/// Trainer::run.
RunResult fit(const std::string& text, const TextSplit& split, const FitOptions& options, RunOptions run);

/// Trains a model for Task::forecast on windows of a time series. The function uses the columns, horizon, season and
/// Huber delta of `forecast`. The length and the batch come from `options`. Throws an Error if the options are invalid,
/// and the Errors of forecast_data and Trainer::run.
RunResult fit(const Series& series, const ForecastOptions& forecast, const TextSplit& split, const FitOptions& options,
              RunOptions run);

}  // namespace weft
WEFT_PUBLIC_END
