// What a run's model predicts for the validation rows, as figures of the page.
#pragma once
#include <weft/classifier.h>
#include <weft/data.h>
#include <weft/labelled_texts.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "report/json.h"
#include "report/samples.h"

namespace report {

// The figures of a task on rows, each a {"kind": …} of those below, with "task", "rows" and "of": that many rows of
// so many were predicted. Empty for other tasks. `probabilities` are those of a classifier for each of validation.rows.
Json prediction_figures(const weft::Checkpoint& checkpoint, const Validation& validation, const SampleOptions& options,
                        const std::vector<std::vector<double>>& probabilities);

// Numbers of `outputs` for each row, row by row.
struct Predictions {
  std::size_t outputs = 0;
  std::vector<double> predicted, actual;

  std::size_t rows() const { return outputs == 0 ? 0 : actual.size() / outputs; }
};

// Predicted probabilities of labels, and for each 1 if the row has the label, else 0: {"kind": "precision_recall",
// "labels": [{"label", "actual", "predicted", "precision", "recall", "f1", "average_precision"}], "micro": the same,
// and "best": {"threshold", "f1"}, "mean_average_precision", "curves": [{"label", "recall", "precision", "threshold"}]}.
// A label is predicted from a probability above a half. The curves are those of the micro average, whose label is null,
// and of the labels that the fewest rows have, at most eight. Labels that no row has have an average precision of null.
Json precision_recall(const std::vector<std::string>& labels, const Predictions& rows);

// A predicted quantity, and the outputs that are predictions of it: one, or one for each step of a forecast.
struct PredictedTarget {
  std::string name;
  std::vector<std::size_t> outputs;
};

// {"kind": "residuals", "targets": [{"name", "mae", "rmse", "r2", "actual", "predicted", "histogram"}]}. R² is the mean
// over the target's outputs. Points (actual, predicted) are at most 1000, evenly spaced. "histogram" is {"from",
// "width", "counts", "outside"}, of actual - predicted, without the farthest percent if there are many rows. Targets
// after the eighth have neither points nor a histogram.
Json residuals(const std::vector<PredictedTarget>& targets, const Predictions& rows);

// The words and the tags of a row. Rows of frames have no words.
struct TaggedRow {
  std::vector<std::string> words, actual, predicted;
};

// {"kind": "spans", "spans": whether the tags are O, B-NAME and I-NAME, "types": [{"type", "precision", "recall", "f1",
// "support", "predicted"}], "micro": the same, "sentences": [{"words", "cut", "actual", "predicted"}], "right"}, where
// "actual" and "predicted" of a sentence are [[begin, end, type]], and "right" counts the rows without a mistake. A
// predicted span is right if its ends and its type are. Other tags count as spans of one word.
Json spans(const std::vector<TaggedRow>& rows);

// A window of a forecast: for each target the numbers before it, oldest first, none if the model doesn't read the
// target's column; and the numbers that follow, target by target.
struct ForecastWindow {
  std::vector<std::vector<double>> history;
  std::vector<double> actual, predicted;
};

// {"kind": "forecasts", "horizon", "season", "targets": [{"name", "mae", "mae_last", "mae_season"}], "windows":
// [{"target", "number", "history", "actual", "predicted"}]}. The MAEs are those of each step: of the model, of the last
// value, and of the value one season before; null if unknown. At most six windows, evenly spaced, for up to four
// targets.
Json forecasts(const std::vector<std::string>& targets, std::int64_t horizon, std::int64_t season,
               const std::vector<ForecastWindow>& windows);

// {"kind": "pictures", "labels", "wrong", "right", "pictures": [{"actual", "predicted", "probability", "picture"}]}: at
// most 16 mistakes, the most confident first, and 8 evenly spaced pictures that are classified correctly.
Json picture_grid(const std::vector<std::string>& labels, const weft::LabelledTexts& rows,
                  const std::vector<std::vector<double>>& probabilities);

// `count` numbers below `size`, evenly spaced and rising; all of them if there are not more.
std::vector<std::size_t> evenly_spaced(std::size_t size, std::size_t count);

}  // namespace report
