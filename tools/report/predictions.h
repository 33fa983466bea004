// Figures that show the predictions of a run's model for the validation rows.
#pragma once
#include <weft/classifier.h>
#include <weft/data.h>
#include <weft/labeled_texts.h>
#include <weft/retrieval_meter.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "report/json.h"
#include "report/samples.h"

namespace report {

// Returns the figures of a task on rows, or an empty list for other tasks. Each figure is one of the objects {"kind":
// …} below with three more entries. "task" is the task, "rows" is the number of rows that were predicted, and "of" is
// the number of rows from which these were taken. `probabilities` are a classifier's probabilities for each of
// validation.rows.
Json prediction_figures(const weft::Checkpoint& checkpoint, const Validation& validation, const SampleOptions& options,
                        const std::vector<std::vector<double>>& probabilities);

// `outputs` numbers for each row, stored row by row.
struct Predictions {
  std::size_t outputs = 0;
  std::vector<double> predicted, actual;

  std::size_t rows() const { return outputs == 0 ? 0 : actual.size() / outputs; }
};

// Returns {"kind": "precision_recall", "labels": [{"label", "actual", "predicted", "precision", "recall", "f1",
// "average_precision"}], "micro": {the same and "best": {"threshold", "f1"}}, "mean_average_precision", "curves":
// [{"label", "recall", "precision", "threshold"}]}. rows.predicted has the probability of each label, and rows.actual
// is 1 if the row has the label, else 0. A label is predicted if its probability is above 0.5. There is a curve for the
// micro average, whose label is null, and a curve for each of the rarest labels, at most eight. The average precision
// of a label that no row has is null.
Json precision_recall(const std::vector<std::string>& labels, const Predictions& rows);

// A predicted quantity and the outputs that predict it. A forecast has an output for each step, and other tasks have
// one output.
struct PredictedTarget {
  std::string name;
  std::vector<std::size_t> outputs;
};

// Returns {"kind": "residuals", "targets": [{"name", "mae", "rmse", "r2", "actual", "predicted", "histogram"}]}. "r2"
// is the mean over the target's outputs. "actual" and "predicted" have at most 1000 evenly spaced points. "histogram"
// is {"from", "width", "counts", "outside"} of actual - predicted. If there are at least 200 values, the range of the
// histogram leaves out the lowest and the highest 0.5 % of them. Targets after the eighth have neither points nor a
// histogram.
Json residuals(const std::vector<PredictedTarget>& targets, const Predictions& rows);

// The words and the tags of a row. Rows of frames have no words.
struct TaggedRow {
  std::vector<std::string> words, actual, predicted;
};

// Returns {"kind": "spans", "spans", "types": [{"type", "precision", "recall", "f1", "support", "predicted"}], "micro":
// the same, "sentences": [{"words", "cut", "actual", "predicted"}], "right"}. "spans" says whether the tags have the
// forms O, B-NAME and I-NAME. If not, each tag counts as a span of one word. "actual" and "predicted" of a sentence are
// [[begin, end, type]]. A predicted span is right if its beginning, its end and its type are right. "right" is the
// number of rows without a mistake.
Json spans(const std::vector<TaggedRow>& rows);

// A window of a forecast. `history` has, for each target, the numbers before the window, starting with the oldest. It
// is empty for a target whose column the model doesn't read. `actual` and `predicted` have the numbers that follow,
// target by target.
struct ForecastWindow {
  std::vector<std::vector<double>> history;
  std::vector<double> actual, predicted;
};

// Returns {"kind": "forecasts", "horizon", "season", "targets": [{"name", "mae", "mae_last", "mae_season"}], "windows":
// [{"target", "number", "history", "actual", "predicted"}]}. "mae" has the mean absolute error of the model at each
// step. "mae_last" and "mae_season" have the errors of two simpler forecasts, which repeat the last value or the value
// one season before. "mae_last" and "mae_season" are null if they are unknown. There are at most six evenly spaced
// windows for a single target, and at most three for each of the first four targets otherwise.
Json forecasts(const std::vector<std::string>& targets, std::int64_t horizon, std::int64_t season,
               const std::vector<ForecastWindow>& windows);

// Returns {"kind": "pictures", "labels", "wrong", "right", "pictures": [{"actual", "predicted", "probability",
// "picture"}]}. The pictures are the mistakes with the highest probability, at most 16, and at most 8 evenly spaced
// pictures that are classified correctly.
Json picture_grid(const std::vector<std::string>& labels, const weft::LabeledTexts& rows,
                  const std::vector<std::vector<double>>& probabilities);

// Returns {"kind": "retrieval", "rows", "median_rank", "recall", "chance"}. recall[k - 1] is the share of texts whose own
// label is among the k nearest labels, for k from 1 to the number of texts, at most 100. "chance" is the mean of this
// share if the labels are in random order. The rank of the nearest label is 1.
Json retrieval(const std::vector<weft::RetrievalRank>& ranks);

// Returns `count` evenly spaced integers from 0 to size - 1 in ascending order, or all of these if `size` is smaller.
std::vector<std::size_t> evenly_spaced(std::size_t size, std::size_t count);

}  // namespace report
