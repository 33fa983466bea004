/// \file
/// ClassifierData: training and validation data for classifiers.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "weft/balance.h"
#include "weft/data.h"
#include "weft/labeled_texts.h"
#include "weft/visibility.h"

WEFT_PUBLIC_BEGIN
namespace weft {

/// How a batch holds rows of different lengths. A classifier gives the same results only if rows are padded as they
/// were in training.
enum class Padding {
  exact,  ///< rows are not padded for the model; rows of a training batch have similar lengths
  full,   ///< all rows are padded to the longest sequence
};

/// Rows for classifiers. A sequence is [cls] and the first length - 1 symbols of the text. If the tokenizer has [sep],
/// the sequence is [cls], the first length - 2 symbols and [sep]. Each training epoch uses all rows in a new order.
/// With Padding::exact, a batch consists of rows of similar lengths.
class ClassifierData : public Data {
 public:
  /// `word_dropout` is the probability of word dropout (Bowman et al. 2016, Generating Sentences from a Continuous
  /// Space, arXiv 1511.06349, section 3.2). In training, each symbol except [cls] and [sep] is replaced with this
  /// probability, drawn again each time the row is used. The replacement is the unknown symbol, or [mask] if the
  /// tokenizer has no unknown symbol. Throws an Error if the tokenizer has no symbol for padding or for the beginning
  /// of a sequence, if the validation set has no row, if the training and validation sets have different labels, if
  /// length < 2, if word_dropout < 0 or >= 1, if word_dropout > 0 and the tokenizer has neither replacement, or if
  /// `learning` asks for a Huber loss.
  ClassifierData(const LabeledTexts& training, const LabeledTexts& validation,
                 std::shared_ptr<const Tokenizer> tokenizer, std::int64_t length, std::int64_t batch,
                 Padding padding = Padding::full, double word_dropout = 0, const LearningOptions& learning = {});

  Task task() const noexcept override { return Task::classifier; }
  const std::shared_ptr<const Tokenizer>& tokenizer() const noexcept override { return tokenizer_; }
  std::int64_t length() const noexcept override { return length_; }
  std::int64_t batch() const noexcept override { return batch_; }
  Batch training(std::int64_t k, const Random& random) const override;
  std::int64_t validation_batches() const noexcept override;
  Batch validation(std::int64_t k) const override;  ///< with Padding::exact, all rows have the same length
  /// Returns a meter for "accuracy", the fraction of rows whose label has the highest logit, and for "macro F1"
  /// (Confusion::macro_average).
  std::unique_ptr<Meter> meter() const override;
  Tensor loss(const Tensor& output, const Batch& batch) const override;
  std::vector<std::string> labels() const override { return labels_; }
  std::int64_t pad_to() const noexcept override { return padding_ == Padding::full ? length_ : 0; }
  bool pairs() const noexcept override { return pairs_; }
  std::string fingerprint() const override;

 private:
  struct Rows {
    std::vector<std::int32_t> tokens;  // the tokens of all rows, without padding
    std::vector<std::int64_t> ends;    // 0, then the end of each row
    std::vector<std::int64_t> labels;
    std::vector<std::int64_t> epoch;      // row numbers; rows of rare classes may occur several times
    std::vector<std::int64_t> by_length;  // the row numbers in `epoch`, shortest row first
    std::int64_t size(std::int64_t row) const;
  };
  Rows rows(const LabeledTexts& texts, Balance balance) const;
  std::vector<std::int64_t> near_rows(std::int64_t k, const Random& random) const;
  Batch training_rows(const std::vector<std::int64_t>& which, std::int64_t first, const Random& random) const;
  void drop_words(std::int64_t* tokens, std::int64_t length, const Random& random) const;
  Batch gather(const Rows& from, const std::vector<std::int64_t>& which) const;

  std::shared_ptr<const Tokenizer> tokenizer_;
  std::int64_t length_, batch_;
  Padding padding_;
  double word_dropout_;
  bool pairs_;
  std::vector<std::string> labels_;
  LearningOptions learning_;
  std::shared_ptr<const Objective> objective_;  // null: the cross entropy
  Rows training_, validation_;
  std::vector<std::int64_t> validation_starts_;  // where each batch begins in validation_.by_length, then the end
};

}  // namespace weft
WEFT_PUBLIC_END
