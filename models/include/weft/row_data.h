/// \file
/// RowData: training and validation sets whose rows a program makes. A row has tokens, frames or a picture, and a
/// target.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "weft/data.h"
#include "weft/objective.h"
#include "weft/visibility.h"

WEFT_PUBLIC_BEGIN
namespace weft {

/// One row of a data set.
struct Row {
  Tensor tokens;  ///< (n) i64, or undefined
  Tensor frames;  ///< f32 (n, channels), a picture (height, width, channels), or undefined
  Tensor target;  ///< depends on the objective: a class () i64, numbers (outputs) f32, tags (n) i64, …
};

/// The rows of a training or validation set.
struct RowSet {
  std::int64_t size = 0;                 ///< number of rows
  std::function<Row(std::int64_t)> row;  ///< returns row k; must be thread-safe and always return the same row
};

/// Returns the set of the rows with these numbers, in this order. A number may occur several times, as in
/// balanced_rows() (weft/balance.h). Throws an Error for a number that is not in the set.
RowSet chosen_rows(RowSet set, std::vector<std::int64_t> numbers);

/// Options of RowData.
struct RowDataOptions {
  Task task = Task::classifier;                ///< what the models predict
  std::int64_t batch = 32;                     ///< the number of rows in a batch
  std::vector<std::string> outputs;            ///< the names of the labels, or of the predicted numbers
  InputSpec input;                             ///< describes the frames of rows; not defined() if rows have only tokens
  OutputSpec output;                           ///< converts results to the unit of the targets; may be empty
  std::shared_ptr<const Tokenizer> tokenizer;  ///< the tokenizer that made the tokens; null for rows without tokens
  std::int64_t length = 0;                     ///< the maximum length of a sequence; not needed for pictures
  bool pairs = false;                          ///< whether the tokens of each row encode a pair of texts (text_pair)
  std::shared_ptr<const Objective> objective;  ///< null: make_objective(task, outputs)
  /// Changes training rows at random, for example by shifting pictures. If null, rows stay as they are.
  std::function<Row(Row, const Random&)> augment;
  std::string name;  ///< identifies the data when a run is resumed; if empty, a hash of some rows identifies them
};

/// Rows that may differ in length. A batch may hold rows of different lengths, but the model runs on the rows of each
/// length separately, so padding has no effect. Each training epoch uses all rows once, in a new random order.
class RowData : public Data {
 public:
  /// Throws an Error if the validation set has no rows, if a function is missing, if a size is below 1, or if the
  /// options contradict each other. A row that doesn't match the options causes an Error when it is used. This Error
  /// names the row.
  RowData(RowSet training, RowSet validation, RowDataOptions options);

  Task task() const noexcept override { return options_.task; }
  const std::shared_ptr<const Tokenizer>& tokenizer() const noexcept override { return options_.tokenizer; }
  InputSpec input() const override { return options_.input; }
  std::int64_t length() const noexcept override { return options_.length; }
  std::int64_t batch() const noexcept override { return options_.batch; }
  Batch training(std::int64_t k, const Random& random) const override;
  std::int64_t validation_batches() const noexcept override;
  Batch validation(std::int64_t k) const override;
  Tensor loss(const Tensor& output, const Batch& batch) const override;
  std::unique_ptr<Meter> meter() const override;
  std::vector<std::string> labels() const override { return options_.outputs; }
  bool pairs() const noexcept override { return options_.pairs; }
  std::string fingerprint() const override;

  /// Returns the spec of a model for these data.
  ModelSpec spec(const std::string& arch, const std::string& config = "{}") const;

 private:
  Batch gather(std::vector<Row> rows) const;
  Row checked(const RowSet& set, const char* name, std::int64_t k) const;

  RowSet training_, validation_;
  RowDataOptions options_;
};

}  // namespace weft
WEFT_PUBLIC_END
