/// \file
/// Classifier: a trained model that labels texts.
#pragma once
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "weft/checkpoint.h"
#include "weft/visibility.h"

WEFT_PUBLIC_BEGIN
namespace weft {

/// A predicted label and its probability.
struct Prediction {
  std::string label;       ///< its name
  double probability = 0;  ///< 0 … 1; the probabilities of all labels sum to 1
};

/// A trained classifier: it takes texts and returns the probabilities of labels. For a classifier of pictures, a text
/// holds the pixels of a picture (weft/pictures.h). The result for a text has the same bits whatever other texts are in
/// the call, with any number of threads. Rows are padded as in training (CheckpointInfo::pad_to). Threads may share a
/// classifier, as long as no thread writes the model's parameters.
class Classifier {
 public:
  /// Returns the reason why a checkpoint can't classify texts, for use in messages. The result is empty if the
  /// checkpoint can classify texts.
  static std::string why_not(const Checkpoint& checkpoint);
  /// Throws an Error unless the checkpoint's model is a classifier that takes rows of CheckpointInfo::pad_to tokens.
  explicit Classifier(Checkpoint checkpoint);

  /// The names of the labels, in the order of probabilities().
  const std::vector<std::string>& labels() const noexcept { return checkpoint_.info.labels; }
  /// The checkpoint that the constructor received.
  const Checkpoint& checkpoint() const noexcept { return checkpoint_; }

  /// Returns the probability of each label. A text that is too long is truncated as in training. Throws an Error if the
  /// text is not UTF-8 or has a zero byte, or if the model's output is not finite.
  std::vector<double> probabilities(const std::string& text) const;
  /// Does the same for several texts. The threads of the current Context share the work.
  std::vector<std::vector<double>> probabilities(const std::vector<std::string>& texts) const;

  /// Returns the most probable labels in descending order of probability: at most `top` (0: all), each with a
  /// probability of at least `threshold`.
  std::vector<Prediction> best(const std::vector<double>& probabilities, std::int64_t top = 1,
                               double threshold = 0) const;
  /// Returns the most probable label of a text.
  Prediction operator()(const std::string& text) const;
  /// Returns the number of texts in all calls so far that were too long, and were therefore truncated. Rows of numbers
  /// don't count.
  std::int64_t truncated() const noexcept { return *truncated_; }

 private:
  std::vector<std::int64_t> row_of(const std::string& text) const;
  ModelInput input_of(const std::string& text) const;

  Checkpoint checkpoint_;
  std::unique_ptr<std::atomic<std::int64_t>> truncated_ = std::make_unique<std::atomic<std::int64_t>>(0);
};

}  // namespace weft
WEFT_PUBLIC_END
