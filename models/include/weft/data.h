/// \file
/// Data: batches, loss and metrics for one task, in training and in validation; and TextData, the data of one text.
/// weft/classifier_data.h has the data of labeled texts.
#pragma once
#include <cstdint>
#include <map>
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

/// Sequences that a model sees at once, and what it should predict.
struct Batch {
  Tensor tokens;               ///< (b, n) i64; undefined for a model that reads no tokens
  Tensor target;               ///< language models: (b, n) i64, -100 where nothing is predicted; classifiers: (b) i64
  std::int64_t predicted = 0;  ///< targets that count
  std::int64_t bytes = 0;      ///< of the texts behind these targets; 0 if there are none
  /// The lengths of the rows, in rising order, for rows whose padding must have no effect. A Trainer then runs the
  /// model on the rows of each length separately. Every row must count as one predicted target, or the target is (b, n)
  /// i64 with -100 where nothing is predicted. If empty, all rows have the tensor's length, padding included.
  std::vector<std::int64_t> lengths = {};
  Tensor frames = {};  ///< see ModelInput (weft/input.h); undefined for a model that reads only tokens
  /// More that a custom loss needs, (b, …), by name.
  std::map<std::string, Tensor> more = {};
};

/// The target of a token for which nothing is predicted.
constexpr std::int64_t ignored_target = -100;

/// A score such as "accuracy" or "MAE".
struct Metric {
  std::string name;              ///< for people to read
  double value = 0;              ///< any number; a score for which 1 is best, unless lower_is_better
  bool lower_is_better = false;  ///< it is an error, in the target's unit; 0 is best
  bool is_share = true;          ///< from 0 to 1, so that programs may print it in percent
};

/// Collects counts for metrics, batch by batch.
class Meter {
 public:
  virtual ~Meter() = default;
  virtual void add(const Tensor& output, const Batch& batch) = 0;  ///< a model's output for the batch's tokens
  virtual std::vector<Metric> metrics() const = 0;                 ///< over all batches; the names never change
  virtual std::optional<Confusion> confusion() const;              ///< of labels; none unless overridden
  /// Everything that was added, as bytes for add_counts() of another meter. If meters have it, ranks share a
  /// validation; otherwise only rank 0 measures. None unless overridden.
  virtual std::optional<std::string> counts() const { return std::nullopt; }
  virtual void add_counts(const std::string& counts) { (void)counts; }  ///< of another meter of the same data
};

/// Batches, loss and metrics of one task. weft's own classes never change once they are made, so threads may share
/// them.
class Data {
 public:
  virtual ~Data() = default;
  virtual Task task() const noexcept = 0;                                          ///< what its models predict
  virtual const std::shared_ptr<const Tokenizer>& tokenizer() const noexcept = 0;  ///< never null; see no_tokenizer()
  virtual InputSpec input() const { return {}; }     ///< the frames of its batches; by default none
  virtual std::int64_t length() const noexcept = 0;  ///< the longest sequence of a batch
  virtual std::int64_t batch() const noexcept = 0;   ///< sequences of a training batch
  /// Batch k of the run that `random` stands for. It depends only on these two. Throws an Error if there is nothing to
  /// train on. A Trainer calls this from threads of its own, while other threads call the other functions.
  virtual Batch training(std::int64_t k, const Random& random) const = 0;
  virtual std::int64_t validation_batches() const noexcept = 0;  ///< at least 1
  virtual Batch validation(std::int64_t k) const = 0;            ///< the k-th batch; always the same
  /// The mean loss over everything that the batch predicts, given a model's output for its tokens: the cross entropy
  /// with the targets, in nats, of rank 0, differentiable.
  virtual Tensor loss(const Tensor& output, const Batch& batch) const;
  /// Measures metrics other than the loss; null if there are none.
  virtual std::unique_ptr<Meter> meter() const { return nullptr; }
  /// Rows: the names of the labels, or of the predicted numbers, in order. May be empty.
  virtual std::vector<std::string> labels() const { return {}; }
  /// Classifiers: the length that every row is padded to; 0 if validation rows are not padded.
  virtual std::int64_t pad_to() const noexcept { return 0; }
  /// Whether the rows are pairs of texts (text_pair).
  virtual bool pairs() const noexcept { return false; }
  /// The amount of data and a hash of it, to tell whether two data are the same.
  virtual std::string fingerprint() const = 0;
};

/// Throws an Error unless lowest <= length, 1 <= batch, and a batch fits into memory.
void check_batch(const std::string& where, std::int64_t length, std::int64_t lowest, std::int64_t batch);

/// How a text's tokens are split by position, in percent: first the training set, then the validation set, then the
/// rest, which isn't used. If the training set is empty, the whole validation set is measured; otherwise at most its
/// first million tokens.
struct TextSplit {
  int training = 90;    ///< percent
  int validation = 10;  ///< percent

  /// The percentage of the text after both parts.
  int rest() const noexcept { return 100 - training - validation; }
  /// A split that measures the rest as a test set: the rest is the validation set, and everything before it the
  /// training set.
  TextSplit test() const noexcept { return {training + validation, rest()}; }
};
/// "80/10/10" as percentages for the training, validation and test sets. Throws an Error unless these are three whole
/// numbers that add up to 100, the first two at least 1.
TextSplit text_split(const std::string& name);

/// A character tokenizer for a language model of a text, with a mask symbol if the task needs one.
std::shared_ptr<const Tokenizer> text_tokenizer(const std::string& text, Task task);

/// A text for language models. Training uses windows from random places. Validation uses consecutive windows that don't
/// overlap (the last may be shorter), so that each token is predicted once.
/// Causal: the target is the next token. Masked (Devlin et al. 2018, section 3.1): 15 % of the tokens are predicted, at
/// least one in each window. Of these, 80 % are masked, 10 % are replaced by random tokens, and 10 % are left as they
/// are.
class TextData : public Data {
 public:
  /// Throws an Error if the text can't be encoded or is too short for a window, if the tokenizer has only special
  /// symbols, or if it has no mask symbol where the task needs one.
  TextData(const std::string& text, std::shared_ptr<const Tokenizer> tokenizer, Task task, std::int64_t length,
           std::int64_t batch, const TextSplit& split = {});
  /// The same for a text that the tokenizer has already encoded.
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
  std::int64_t trained_;                // number of training tokens; the validation set begins after them
  std::int64_t predicted_;              // number of validation tokens that are predicted
  std::vector<std::int32_t> bytes_;     // bytes of the text of each id
  std::vector<std::int64_t> ordinary_;  // ids that aren't special
};

}  // namespace weft
#pragma GCC visibility pop
