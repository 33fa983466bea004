/// \file
/// Data: the batches, loss and metrics of one task, for training and validation. TextData is the data for language
/// models, made from one text. weft/classifier_data.h has the data of labeled texts.
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
#include "weft/visibility.h"

WEFT_PUBLIC_BEGIN
namespace weft {

/// Sequences that a model processes together, and the targets that it should predict.
struct Batch {
  Tensor tokens;               ///< (b, n) i64; undefined for a model that reads no tokens
  Tensor target;               ///< language models: (b, n) i64, -100 where nothing is predicted; classifiers: (b) i64
  std::int64_t predicted = 0;  ///< the number of targets that the loss counts
  std::int64_t bytes = 0;      ///< the number of bytes of text that these targets stand for; 0 if there is no text
  /// The lengths of the rows, in ascending order. With these lengths, padding has no effect, because a Trainer runs the
  /// model separately on the rows of each length. Every row must then count as one predicted target, or the target must
  /// be (b, n) i64 with -100 where nothing is predicted. If empty, all rows have the tensor's length, padding included.
  std::vector<std::int64_t> lengths = {};
  Tensor frames = {};  ///< see ModelInput (weft/input.h); undefined for a model that reads only tokens
  /// Further tensors (b, …), by name, that a custom loss needs.
  std::map<std::string, Tensor> more = {};
};

/// The target of a token for which nothing is predicted.
constexpr std::int64_t ignored_target = -100;

/// A score such as "accuracy" or "MAE".
struct Metric {
  std::string name;              ///< the name that programs show
  double value = 0;              ///< 1 is the best value, unless lower_is_better
  bool lower_is_better = false;  ///< whether it is an error in the unit of the targets; 0 is then the best value
  bool is_share = true;          ///< whether the value lies between 0 and 1, so that programs may print it in percent
};

/// Accumulates the counts behind metrics, batch by batch.
class Meter {
 public:
  virtual ~Meter() = default;
  virtual void add(const Tensor& output, const Batch& batch) = 0;  ///< adds a model's output for the batch
  /// Returns the metrics of all batches added so far. The names of the metrics never change.
  virtual std::vector<Metric> metrics() const = 0;
  virtual std::optional<Confusion> confusion() const;  ///< the counts of labels; no value unless overridden
  /// Returns everything added so far, as bytes that another meter's add_counts() takes. If a meter overrides this
  /// function, ranks share the work of a validation. Otherwise only rank 0 measures the metrics. Returns no value
  /// unless overridden.
  virtual std::optional<std::string> counts() const { return std::nullopt; }
  /// Adds the counts() of another meter for the same data.
  virtual void add_counts(const std::string& counts) { (void)counts; }
};

/// The batches, loss and metrics of one task. The library's own classes are immutable, so threads may share their
/// objects.
class Data {
 public:
  virtual ~Data() = default;
  virtual Task task() const noexcept = 0;  ///< what models that learn from these data predict
  virtual const std::shared_ptr<const Tokenizer>& tokenizer() const noexcept = 0;  ///< never null; see no_tokenizer()
  virtual InputSpec input() const { return {}; }     ///< describes the frames of the batches; by default there are none
  virtual std::int64_t length() const noexcept = 0;  ///< the maximum length of a sequence
  virtual std::int64_t batch() const noexcept = 0;   ///< the number of sequences in a training batch
  /// Returns training batch k of the run that `random` identifies. The batch depends only on these two arguments.
  /// Throws an Error if the training set is empty. A Trainer calls this from its own threads, while other threads call
  /// the other functions.
  virtual Batch training(std::int64_t k, const Random& random) const = 0;
  virtual std::int64_t validation_batches() const noexcept = 0;  ///< at least 1
  virtual Batch validation(std::int64_t k) const = 0;            ///< validation batch k; always the same
  /// Returns the mean loss over everything that the batch predicts, given a model's output for the batch. The result is
  /// differentiable and has rank 0. By default it is the cross entropy with the targets, in nats.
  virtual Tensor loss(const Tensor& output, const Batch& batch) const;
  /// Returns a meter for metrics other than the loss; null if there are none.
  virtual std::unique_ptr<Meter> meter() const { return nullptr; }
  /// For tasks on rows: the names of the labels, or of the predicted numbers, in the order of the outputs. The list may
  /// be empty.
  virtual std::vector<std::string> labels() const { return {}; }
  /// The length to which every row of texts is padded; 0 if validation rows are not padded.
  virtual std::int64_t pad_to() const noexcept { return 0; }
  /// Whether each row is a pair of texts (text_pair).
  virtual bool pairs() const noexcept { return false; }
  /// Returns the size of the data and a hash, as a text. Objects with equal texts count as the same data.
  virtual std::string fingerprint() const = 0;
};

/// Throws an Error unless length >= lowest, batch >= 1, and a batch is small enough to fit into memory.
void check_batch(const std::string& where, std::int64_t length, std::int64_t lowest, std::int64_t batch);

/// How the tokens of a text are split by position. The text begins with the training set, and the validation set
/// follows. The rest is not used. If the training set is empty, the whole validation set is evaluated. Otherwise at
/// most the first million tokens of the validation set are evaluated.
struct TextSplit {
  int training = 90;    ///< the size of the training set, in percent
  int validation = 10;  ///< the size of the validation set, in percent

  /// The percentage of the text that follows both sets.
  int rest() const noexcept { return 100 - training - validation; }
  /// Returns a split that evaluates the rest as a test set. Its validation set is the rest of this split, and its
  /// training set is everything before the rest.
  TextSplit test() const noexcept { return {training + validation, rest()}; }
};
/// Converts a text with the percentages of the training, validation and test sets, such as "80/10/10", to a TextSplit.
/// Throws an Error unless these are three whole numbers that add up to 100, and the first two are at least 1.
TextSplit text_split(const std::string& name);

/// Learns a character tokenizer for a language model of the text. The tokenizer has a mask symbol if the task needs
/// one.
std::shared_ptr<const Tokenizer> text_tokenizer(const std::string& text, Task task);

/// A text for language models. Training uses windows at random positions. Validation uses consecutive windows that
/// don't overlap, so that they cover each token once. The last window may be shorter.
///
/// - Causal: the target of a token is the next token.
/// - Masked (Devlin et al. 2018, section 3.1): the targets are 15 % of the tokens, at least one in each window. Of
///   these, 80 % are masked, 10 % are replaced by random tokens, and 10 % stay as they are.
class TextData : public Data {
 public:
  /// Throws an Error if the text can't be encoded or is too short for a window, if the tokenizer has only special
  /// symbols, or if the task needs a mask symbol that the tokenizer doesn't have.
  TextData(const std::string& text, std::shared_ptr<const Tokenizer> tokenizer, Task task, std::int64_t length,
           std::int64_t batch, const TextSplit& split = {});
  /// Does the same for a text that the tokenizer has already encoded.
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
  std::vector<std::int32_t> bytes_;     // number of bytes of each id's text
  std::vector<std::int64_t> ordinary_;  // ids that aren't special
};

}  // namespace weft
WEFT_PUBLIC_END
