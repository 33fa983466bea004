/// \file
/// Classifier: what a trained model says of a text.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "weft/checkpoint.h"

#pragma GCC visibility push(default)
namespace weft {

/// A label and how probable it is.
struct Prediction {
  std::string label;       ///< its name
  double probability = 0;  ///< 0 … 1; those of all labels sum to 1
};

/// A trained classifier: texts in, probabilities of labels out. A text's are the same bits alone and beside any others,
/// at any number of threads, and its row is as those that trained the model: filled up with padding, or of its own
/// length (CheckpointInfo::pad_to). Threads may share one; nobody may write the model's parameters meanwhile.
class Classifier {
 public:
  /// Why a checkpoint can't classify texts, for people to read; empty if it can.
  static std::string why_not(const Checkpoint& checkpoint);
  /// Of a checkpoint. Error unless its model is a classifier, which takes rows of CheckpointInfo::pad_to tokens.
  explicit Classifier(Checkpoint checkpoint);

  /// The names of the labels, in the order of probabilities.
  const std::vector<std::string>& labels() const noexcept { return checkpoint_.info.labels; }
  /// What it was made of.
  const Checkpoint& checkpoint() const noexcept { return checkpoint_; }

  /// Of each label. A long text is cut as in training. Error if it is not UTF-8 or has
  /// a zero byte, or if the model gives what isn't finite.
  std::vector<double> probabilities(const std::string& text) const;
  /// The same of each text; the current context's threads share them.
  std::vector<std::vector<double>> probabilities(const std::vector<std::string>& texts) const;

  /// The most probable labels, the first the most probable: at most `top` (0: all), each at least `threshold` probable.
  std::vector<Prediction> best(const std::vector<double>& probabilities, std::int64_t top = 1,
                               double threshold = 0) const;
  /// The most probable label of a text.
  Prediction operator()(const std::string& text) const;

 private:
  std::vector<std::int64_t> row_of(const std::string& text) const;

  Checkpoint checkpoint_;
};

}  // namespace weft
#pragma GCC visibility pop
