/// \file
/// Confusion: which labels a classifier takes for which others, and the scores that follow from that.
#pragma once
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "weft/tensor.h"

#pragma GCC visibility push(default)
namespace weft {

/// For each row of logits (b, labels), of any real dtype, the label with the highest; the first of equals.
/// Error for another rank or dtype, or without labels.
std::vector<std::int64_t> predicted_labels(const Tensor& logits);

/// How well one label is found, or the mean over labels. A ratio whose denominator is 0 counts as 0.
struct LabelScores {
  double precision = 0;        ///< of the rows that were given the label, the part that has it
  double recall = 0;           ///< of the rows that have the label, the part that was given it
  double f1 = 0;               ///< harmonic mean of the two
  std::int64_t actual = 0;     ///< rows that have the label
  std::int64_t predicted = 0;  ///< rows that were given it
};

/// Counts of rows by their label and by the one that they were given; labels are 0 … labels-1. One thread's.
class Confusion {
 public:
  /// Error unless labels >= 1.
  explicit Confusion(std::int64_t labels);

  /// Counts a row, or some. Error if one of the two is no label, or for less than no rows.
  void add(std::int64_t actual, std::int64_t predicted, std::int64_t rows = 1);
  /// Counts each row of logits (b, labels) with the highest as what was predicted, target (b) i64.
  /// Error, with nothing counted, for other shapes or a target that is no label.
  void add(const Tensor& logits, const Tensor& target);

  std::int64_t labels() const noexcept { return labels_; }  ///< how many
  std::int64_t rows() const noexcept { return rows_; }      ///< that were counted
  /// Rows with the label `actual` that were given `predicted`. Error if one of the two is no label.
  std::int64_t count(std::int64_t actual, std::int64_t predicted) const;

  /// Rows by (actual, predicted), of those pairs that occur.
  const std::map<std::pair<std::int64_t, std::int64_t>, std::int64_t>& counts() const noexcept { return counts_; }

  /// The part of the rows that were given their own label; 0 of none.
  double accuracy() const noexcept;
  /// One label's. Error if it is none.
  LabelScores scores(std::int64_t label) const;
  /// The macro average: each label's scores count alike. The mean is over those that a row has or was given; `actual` and
  /// `predicted` are all rows.
  LabelScores macro_average() const;

 private:
  void check(std::int64_t label) const;

  std::int64_t labels_;
  std::int64_t rows_ = 0, right_ = 0;
  std::vector<std::int64_t> actual_, predicted_;                          // rows of each label
  std::map<std::pair<std::int64_t, std::int64_t>, std::int64_t> counts_;  // of (actual, predicted) that occur
};

}  // namespace weft
#pragma GCC visibility pop
