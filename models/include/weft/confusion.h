/// \file
/// Confusion: how often a classifier confuses one label with another, and the scores computed from these counts.
#pragma once
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "weft/tensor.h"
#include "weft/visibility.h"

WEFT_PUBLIC_BEGIN
namespace weft {

/// Returns the label with the highest logit for each row of logits (b, labels), of any real dtype. In a tie it returns
/// the first label. Throws an Error for another rank or dtype, or if there are no labels.
std::vector<std::int64_t> predicted_labels(const Tensor& logits);

/// The scores of one label, or their mean over the labels. A ratio whose denominator is 0 counts as 0.
struct LabelScores {
  double precision = 0;        ///< among the rows predicted to have the label, the fraction that has it
  double recall = 0;           ///< among the rows that have the label, the fraction predicted to have it
  double f1 = 0;               ///< harmonic mean of precision and recall
  std::int64_t actual = 0;     ///< number of rows that have the label
  std::int64_t predicted = 0;  ///< number of rows predicted to have the label
};

/// Counts rows by their actual label and their predicted label, both 0 … labels-1. Not thread-safe.
class Confusion {
 public:
  /// Throws an Error unless labels >= 1.
  explicit Confusion(std::int64_t labels);

  /// Counts one or more rows. Throws an Error if a label is out of range, or if rows < 0.
  void add(std::int64_t actual, std::int64_t predicted, std::int64_t rows = 1);
  /// Counts each row of logits (b, labels) against target (b) i64. The highest logit is the prediction. If the shapes
  /// differ or a target is not a label, it throws an Error and counts nothing.
  void add(const Tensor& logits, const Tensor& target);

  std::int64_t labels() const noexcept { return labels_; }  ///< number of labels
  std::int64_t rows() const noexcept { return rows_; }      ///< number of rows counted
  /// Returns the number of rows with the label `actual` that were predicted as `predicted`. Throws an Error if a label
  /// is out of range.
  std::int64_t count(std::int64_t actual, std::int64_t predicted) const;

  /// Numbers of rows by (actual, predicted), for the pairs that occur.
  const std::map<std::pair<std::int64_t, std::int64_t>, std::int64_t>& counts() const noexcept { return counts_; }

  /// The fraction of rows that were predicted correctly; 0 if there are no rows.
  double accuracy() const noexcept;
  /// The scores of one label. Throws an Error if the label is out of range.
  LabelScores scores(std::int64_t label) const;
  /// The macro average, in which each label has the same weight. It is the mean over the labels that at least one row
  /// has or was predicted to have. `actual` and `predicted` are both the total number of rows.
  LabelScores macro_average() const;

 private:
  void check(std::int64_t label) const;

  std::int64_t labels_;
  std::int64_t rows_ = 0, right_ = 0;
  std::vector<std::int64_t> actual_, predicted_;                          // rows by label
  std::map<std::pair<std::int64_t, std::int64_t>, std::int64_t> counts_;  // by (actual, predicted), if they occur
};

}  // namespace weft
WEFT_PUBLIC_END
