/// \file
/// Confusion: how often a classifier mistakes one label for another, and the scores that follow from the counts.
#pragma once
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "weft/tensor.h"

#pragma GCC visibility push(default)
namespace weft {

/// For each row of logits (b, labels), of any real dtype, the label with the highest logit; the first one in a tie.
/// Throws an Error for another rank or dtype, or if there are no labels.
std::vector<std::int64_t> predicted_labels(const Tensor& logits);

/// The scores of one label, or their mean over the labels. A ratio whose denominator is 0 counts as 0.
struct LabelScores {
  double precision = 0;        ///< among the rows predicted as the label, the fraction that has it
  double recall = 0;           ///< among the rows that have the label, the fraction predicted as it
  double f1 = 0;               ///< harmonic mean of the two
  std::int64_t actual = 0;     ///< rows that have the label
  std::int64_t predicted = 0;  ///< rows predicted as the label
};

/// Counts rows by their actual label and their predicted label, both 0 … labels-1. Not thread-safe.
class Confusion {
 public:
  /// Throws an Error unless labels >= 1.
  explicit Confusion(std::int64_t labels);

  /// Counts one or more rows. Throws an Error if one of the two labels doesn't exist, or if rows < 0.
  void add(std::int64_t actual, std::int64_t predicted, std::int64_t rows = 1);
  /// Counts each row of logits (b, labels), with its highest logit as the prediction, against target (b) i64. If the
  /// shapes differ or a target is not a label, it throws an Error and counts nothing.
  void add(const Tensor& logits, const Tensor& target);

  std::int64_t labels() const noexcept { return labels_; }  ///< how many
  std::int64_t rows() const noexcept { return rows_; }      ///< how many were counted
  /// Rows with the label `actual` that were predicted as `predicted`. Throws an Error if one of the two labels doesn't
  /// exist.
  std::int64_t count(std::int64_t actual, std::int64_t predicted) const;

  /// Numbers of rows by (actual, predicted), for the pairs that occur.
  const std::map<std::pair<std::int64_t, std::int64_t>, std::int64_t>& counts() const noexcept { return counts_; }

  /// The fraction of rows that were predicted correctly; 0 if there are none.
  double accuracy() const noexcept;
  /// The scores of one label. Throws an Error if it doesn't exist.
  LabelScores scores(std::int64_t label) const;
  /// The macro average, in which the scores of each label have the same weight. The mean is over the labels that some
  /// row has or was predicted as. `actual` and `predicted` are the number of all rows.
  LabelScores macro_average() const;

 private:
  void check(std::int64_t label) const;

  std::int64_t labels_;
  std::int64_t rows_ = 0, right_ = 0;
  std::vector<std::int64_t> actual_, predicted_;                          // rows by label
  std::map<std::pair<std::int64_t, std::int64_t>, std::int64_t> counts_;  // by (actual, predicted), if they occur
};

}  // namespace weft
#pragma GCC visibility pop
