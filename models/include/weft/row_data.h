/// \file
/// RowData: training and validation data of rows that a program makes: tokens, frames or pictures, each with a target.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "weft/data.h"
#include "weft/objective.h"

#pragma GCC visibility push(default)
namespace weft {

/// One row of a data set.
struct Row {
  Tensor tokens;  ///< (n) i64, or undefined
  Tensor frames;  ///< f32 (n, channels), a picture (height, width, channels), or undefined
  Tensor target;  ///< as the objective says: a class () i64, numbers (outputs) f32, tags (n) i64, …
};

/// The rows of one set.
struct RowSet {
  std::int64_t size = 0;                 ///< number of rows
  std::function<Row(std::int64_t)> row;  ///< row k, always the same; several threads may call it at once
};

/// The rows of a set with these numbers, in this order; a number may occur several times. For example, balanced_rows()
/// (weft/balance.h). Throws an Error for a number outside the set.
RowSet chosen_rows(RowSet set, std::vector<std::int64_t> numbers);

/// Options of RowData.
struct RowDataOptions {
  Task task = Task::classifier;                ///< what the models predict
  std::int64_t batch = 32;                     ///< rows of a batch
  std::vector<std::string> outputs;            ///< the names of the labels, or of the predicted numbers
  InputSpec input;                             ///< the frames of a row; not defined for rows of tokens only
  OutputSpec output;                           ///< the unit of a model's numbers; may be empty
  std::shared_ptr<const Tokenizer> tokenizer;  ///< of the tokens; null for rows without tokens
  std::int64_t length = 0;                     ///< the longest sequence; not needed for pictures
  bool pairs = false;                          ///< the tokens of a row are those of a pair of texts (text_pair)
  std::shared_ptr<const Objective> objective;  ///< null: make_objective(task, outputs)
  /// Changes training rows at random, for example by shifting a picture by a few pixels; null: they
  /// stay as they are.
  std::function<Row(Row, const Random&)> augment;
  std::string name;  ///< tells data apart when a run is resumed; empty: hashes of some rows
};

/// Rows of one or several lengths. Rows of different lengths share a batch, but a model sees only rows of one length at
/// a time, so no padding has an effect. Training passes over all rows in a new random order each epoch.
class RowData : public Data {
 public:
  /// Throws an Error if the validation set has no rows, for a missing function, for sizes below 1, or if the options
  /// don't fit together. A row that doesn't fit the options is an Error that names it, when it is used.
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

  /// The spec of a model for these data.
  ModelSpec spec(const std::string& arch, const std::string& config = "{}") const;

 private:
  Batch gather(std::vector<Row> rows) const;
  Row checked(const RowSet& set, const char* name, std::int64_t k) const;

  RowSet training_, validation_;
  RowDataOptions options_;
};

}  // namespace weft
#pragma GCC visibility pop
