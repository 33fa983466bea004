/// \file
/// ClassifierData: what classifiers are trained and measured on.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "weft/data.h"
#include "weft/labelled_texts.h"

#pragma GCC visibility push(default)
namespace weft {

/// How rows of different lengths lie in a batch. A classifier answers alike if its rows are as those that trained it.
enum class Padding {
  exact,  ///< as long as they are; a training batch has rows of near lengths, and padding that no model sees
  full,   ///< all filled up to the longest sequence
};

/// Rows for classifiers. A sequence is [cls] and the first length - 1 symbols, or, of a tokenizer that has it, the first
/// length - 2 and [sep]. Training goes over all rows in a new order
/// each time; those of near lengths stay together where Padding is exact.
class ClassifierData : public Data {
 public:
  /// Word dropout (Bowman et al. 2016, Generating Sentences from a Continuous Space, arXiv 1511.06349, section 3.2): in
  /// training each symbol but [cls] and [sep] becomes the unknown one, or [mask] of a tokenizer without one, with this
  /// probability, anew whenever its row comes.
  /// Error if the tokenizer has no symbols for padding and for the beginning of a sequence; if there
  /// is no row for validation, if the two have other labels, for a length below 2, or unless 0 <= word_dropout < 1;
  /// for word dropout with a tokenizer that has neither symbol.
  ClassifierData(const LabelledTexts& training, const LabelledTexts& validation,
                 std::shared_ptr<const Tokenizer> tokenizer, std::int64_t length, std::int64_t batch,
                 Padding padding = Padding::full, double word_dropout = 0);

  Task task() const noexcept override { return Task::classifier; }
  const std::shared_ptr<const Tokenizer>& tokenizer() const noexcept override { return tokenizer_; }
  std::int64_t length() const noexcept override { return length_; }
  std::int64_t batch() const noexcept override { return batch_; }
  Batch training(std::int64_t k, const Random& random) const override;
  std::int64_t validation_batches() const noexcept override;
  Batch validation(std::int64_t k) const override;  ///< where Padding is exact: rows of one length
  /// "accuracy", the part of the rows whose label has the highest logit, and "macro F1" (Confusion::macro_average)
  std::unique_ptr<Meter> meter() const override;
  std::vector<std::string> labels() const override { return labels_; }
  std::int64_t pad_to() const noexcept override { return padding_ == Padding::full ? length_ : 0; }
  std::string fingerprint() const override;

 private:
  struct Rows {
    std::vector<std::int32_t> tokens;  // of all rows, without padding
    std::vector<std::int64_t> ends;    // 0, then where each row ends
    std::vector<std::int64_t> labels;
    std::vector<std::int64_t> by_length;  // numbers of the rows, short ones first
    std::int64_t size(std::int64_t row) const;
  };
  Rows rows(const LabelledTexts& texts) const;
  std::vector<std::int64_t> near_rows(std::int64_t k, const Random& random) const;
  Batch training_rows(const std::vector<std::int64_t>& which, std::int64_t first, const Random& random) const;
  void drop_words(std::int64_t* tokens, std::int64_t length, const Random& random) const;
  Batch gather(const Rows& from, const std::vector<std::int64_t>& which) const;

  std::shared_ptr<const Tokenizer> tokenizer_;
  std::int64_t length_, batch_;
  Padding padding_;
  double word_dropout_;
  std::vector<std::string> labels_;
  Rows training_, validation_;
  std::vector<std::int64_t> validation_starts_;  // of batches, in validation_.by_length; then their end
};

}  // namespace weft
#pragma GCC visibility pop
