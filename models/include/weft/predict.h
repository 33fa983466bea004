/// \file
/// Predictor: a trained model that predicts numbers, several labels, or tags from texts.
#pragma once
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "weft/checkpoint.h"
#include "weft/classifier.h"
#include "weft/visibility.h"

WEFT_PUBLIC_BEGIN
namespace weft {

/// A trained model for regression, multilabel or tagging. The result for a text has the same bits with any number of
/// threads. It doesn't depend on other texts. Threads may share a Predictor, as long as no thread writes the model's
/// parameters.
class Predictor {
 public:
  /// Throws an Error unless the checkpoint's model has one of these tasks and reads either only texts or only rows of
  /// numbers. Pass a row of numbers as a text, in the format of LabeledTexts::texts (weft/labeled_texts.h).
  explicit Predictor(Checkpoint checkpoint);

  /// The names of the outputs.
  const std::vector<std::string>& outputs() const noexcept { return checkpoint_.info.labels; }
  /// The checkpoint that the constructor received.
  const Checkpoint& checkpoint() const noexcept { return checkpoint_; }

  /// Regression: returns a number for each output.
  std::vector<double> numbers(const std::string& text) const;
  /// Does the same for several texts. The threads of the current Context share the work.
  std::vector<std::vector<double>> numbers(const std::vector<std::string>& texts) const;
  /// Multilabel: returns the labels with a probability of at least `threshold`, the most probable first.
  std::vector<Prediction> labels(const std::string& text, double threshold = 0.5) const;
  /// Does the same for several texts. The threads of the current Context share the work.
  std::vector<std::vector<Prediction>> labels(const std::vector<std::string>& texts, double threshold = 0.5) const;
  /// Tagging: returns each word of the text with its tag. A text that is longer than the longest training sequence is
  /// divided into several sequences. If the model reads numbers, the function returns the number of each frame, from 1,
  /// with the frame's tag.
  std::vector<std::pair<std::string, std::string>> tags(const std::string& text) const;
  /// Does the same for several texts. The threads of the current Context share the work.
  std::vector<std::vector<std::pair<std::string, std::string>>> tags(const std::vector<std::string>& texts) const;

  /// Returns the number of texts in all calls so far that were too long, and were therefore truncated. Rows of numbers
  /// and the texts of tags() don't count.
  std::int64_t truncated() const noexcept { return *truncated_; }

 private:
  Tensor output_of(const std::string& text) const;
  std::vector<std::pair<std::string, std::string>> tags_of_frames(const std::string& row) const;
  Tensor output_for(const std::vector<std::int64_t>& ids) const;

  Checkpoint checkpoint_;
  std::unique_ptr<std::atomic<std::int64_t>> truncated_ = std::make_unique<std::atomic<std::int64_t>>(0);
};

}  // namespace weft
WEFT_PUBLIC_END
