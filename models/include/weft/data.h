/// \file
/// Data: what a task is trained and measured on: its batches, its loss, its metrics; and data of a text. Those of labelled
/// texts are in weft/classifier_data.h.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "weft/confusion.h"
#include "weft/encoded_text.h"
#include "weft/model.h"
#include "weft/random.h"
#include "weft/tokenizer.h"

#pragma GCC visibility push(default)
namespace weft {

/// Sequences that a model sees at once, and what it shall predict.
struct Batch {
  Tensor tokens;               ///< (b, n) i64
  Tensor target;               ///< language models: (b, n) i64, -100 where nothing is predicted; classifiers: (b) i64
  std::int64_t predicted = 0;  ///< targets that count
  std::int64_t bytes = 0;      ///< of the texts that they stand for; 0 where they stand for none
  /// Of the rows, short ones first, where what fills them up is to have no effect: a Trainer runs the model on those of
  /// each length by themselves, each of which must count as predicted. Empty: rows are as long as the tensor, with what fills
  /// them up.
  std::vector<std::int64_t> lengths = {};
};

/// A part of a whole, 0 … 1, where 1 is best; as "accuracy".
struct Metric {
  std::string name;  ///< as people read it
  double value = 0;  ///< 0 … 1
};

/// Adds up what metrics need, batch by batch.
class Meter {
 public:
  virtual ~Meter() = default;
  virtual void add(const Tensor& output, const Batch& batch) = 0;  ///< a model's output for the batch's tokens
  virtual std::vector<Metric> metrics() const = 0;                 ///< of all batches so far; the same names of none
  virtual std::optional<Confusion> confusion() const;              ///< of labels; none unless overridden
  /// All that was added, as bytes for another's add_counts(): ranks share a validation if their meters have it; else rank 0
  /// alone measures. None unless overridden.
  virtual std::optional<std::string> counts() const { return std::nullopt; }
  virtual void add_counts(const std::string& counts) { (void)counts; }  ///< of a meter of the same data
};

/// Batches, loss and metrics of one task. weft's own never change once they are made: threads may share them.
class Data {
 public:
  virtual ~Data() = default;
  virtual Task task() const noexcept = 0;                                          ///< what models of it predict
  virtual const std::shared_ptr<const Tokenizer>& tokenizer() const noexcept = 0;  ///< of the tokens; never null
  virtual std::int64_t length() const noexcept = 0;                                ///< the longest sequence of a batch
  virtual std::int64_t batch() const noexcept = 0;                                 ///< sequences of a training batch
  /// Batch k of the run that `random` stands for: it depends on those two alone. Error if there is nothing to train on.
  /// A Trainer calls it from a thread of its own, while others call the rest.
  virtual Batch training(std::int64_t k, const Random& random) const = 0;
  virtual std::int64_t validation_batches() const noexcept = 0;  ///< at least 1
  virtual Batch validation(std::int64_t k) const = 0;            ///< the k-th; always the same
  /// The mean over what the batch predicts, of a model's output for its tokens: the cross entropy with the targets, in
  /// nats, of rank 0, differentiable.
  virtual Tensor loss(const Tensor& output, const Batch& batch) const;
  /// What is measured besides the loss; null if nothing is.
  virtual std::unique_ptr<Meter> meter() const { return nullptr; }
  /// Classifiers: the names of the labels, by their numbers.
  virtual std::vector<std::string> labels() const { return {}; }
  /// Classifiers: the length that every row is filled up to with padding, 0 if rows of validation have none.
  virtual std::int64_t pad_to() const noexcept { return 0; }
  /// Tells other data from the same: how much there is, and a hash of it.
  virtual std::string fingerprint() const = 0;
};

/// Error unless lowest <= length, 1 <= batch, and a batch fits into memory.
void check_batch(const std::string& where, std::int64_t length, std::int64_t lowest, std::int64_t batch);

/// How a text's tokens are divided by their position, in hundredths: what is for training, what behind it is for validation, and
/// the rest, which isn't used. Without a part for training all of the other is measured; else at most its first million tokens.
struct TextSplit {
  int training = 90;    ///< hundredths
  int validation = 10;  ///< hundredths

  /// Hundredths behind both.
  int rest() const noexcept { return 100 - training - validation; }
  /// What measures the rest, as a test: it is for validation, and all before it for training.
  TextSplit test() const noexcept { return {training + validation, rest()}; }
};
/// "80/10/10" as hundredths for training, validation and test. Error unless those are three whole numbers, the first two at
/// least 1, of 100 together.
TextSplit text_split(const std::string& name);

/// A tokenizer for a language model of a text, by characters, with a mask symbol if the task needs one.
std::shared_ptr<const Tokenizer> text_tokenizer(const std::string& text, Task task);

/// A text for language models. Training: windows from random places. Validation: consecutive windows that don't overlap
/// (the last may be shorter), so that each token is predicted once.
/// Causal: the target is the next token. Masked (Devlin et al. 2018, section 3.1): 15 % of the tokens are predicted, at
/// least one a window; of these 80 % are masked, 10 % random, 10 % left as they are.
class TextData : public Data {
 public:
  /// Error if the text can't be encoded, is too short for a window, or if the tokenizer has special symbols alone, or no
  /// mask symbol where the task needs one.
  TextData(const std::string& text, std::shared_ptr<const Tokenizer> tokenizer, Task task, std::int64_t length,
           std::int64_t batch, const TextSplit& split = {});
  /// The same for a text that the tokenizer has encoded.
  TextData(EncodedText text, std::shared_ptr<const Tokenizer> tokenizer, Task task, std::int64_t length,
           std::int64_t batch, const TextSplit& split = {});

  Task task() const noexcept override { return task_; }
  const std::shared_ptr<const Tokenizer>& tokenizer() const noexcept override { return tokenizer_; }
  std::int64_t length() const noexcept override { return length_; }
  std::int64_t batch() const noexcept override { return batch_; }
  Batch training(std::int64_t k, const Random& random) const override;
  std::int64_t validation_batches() const noexcept override;
  Batch validation(std::int64_t k) const override;
  std::string fingerprint() const override;

 private:
  Batch windows(const std::vector<std::int64_t>& starts, std::int64_t n, const Random& random,
                std::int64_t first) const;
  void mask(std::int64_t* tokens, std::int64_t* target, std::int64_t n, const Random& random) const;

  std::shared_ptr<const Tokenizer> tokenizer_;
  Task task_;
  std::int64_t length_, batch_;
  EncodedText tokens_;
  TextSplit split_;
  std::int64_t trained_;                // tokens for training, behind which validation begins
  std::int64_t predicted_;              // tokens of validation that are predicted
  std::vector<std::int32_t> bytes_;     // of the text of each id
  std::vector<std::int64_t> ordinary_;  // ids that aren't special
};

}  // namespace weft
#pragma GCC visibility pop
