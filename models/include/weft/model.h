/// \file
/// Model: what training, evaluation and generation need of an architecture; and how one is made by name.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "weft/layers.h"
#include "weft/precision.h"
#include "weft/task.h"

#pragma GCC visibility push(default)
namespace weft {

/// Texts that grow together, at first one empty text; with a stream of the architecture's own at O(d·n) a token (gMLP), or
/// O(d·log² n) (TNN), instead of a forward pass over all of it. What a text gives is the same, bit by bit, beside any others.
/// One thread's, together with the streams that were selected from it; several streams of one model may run at once. Its
/// model must outlive it and keep its parameters and precision: append() is an Error once one was written, or the precision
/// set to another, since it was first called. An Error leaves the texts as they were.
class TokenStream {
 public:
  virtual ~TokenStream() = default;
  /// How many texts.
  virtual std::int64_t texts() const noexcept = 0;
  /// Appends n >= 1 tokens, 0 … vocabulary-1, to each text: tokens (texts, n) i64 -> the logits (texts, vocabulary) for
  /// the one after the last; up to rounding those of a forward pass over the text, or over its end where the text is
  /// longer than the model takes. Many tokens at once, as a prompt has them, cost one forward pass. Nothing is recorded.
  virtual Tensor append(const Tensor& tokens) = 0;
  /// A stream that goes on with some of these texts, each as often as its index is in `texts`: {0, 0, 0} are three
  /// continuations of one prompt, {0, 2} is without the text between. Memory is shared until it is written. Error for an
  /// index that is not in 0 … texts()-1, or if there is none.
  virtual std::unique_ptr<TokenStream> select(const std::vector<std::int64_t>& texts) const = 0;
  /// append() of one token to the only text: the logits (vocabulary) for the one after it.
  Tensor next(std::int64_t token);
};

/// What every architecture's models have. Const calls may come from several threads, each with a Context of its own, as
/// long as nobody writes a parameter or sets the precision; what layers keep between calls is behind locks.
class Model {
 public:
  virtual ~Model() = default;

  virtual const char* arch() const noexcept = 0;         ///< "gmlp", "tnn", "fnet", …
  virtual Task task() const noexcept = 0;                ///< what it was made for
  virtual std::int64_t outputs() const noexcept = 0;     ///< symbols of the vocabulary (language models) or classes
  virtual std::int64_t vocabulary() const noexcept = 0;  ///< symbols of the input
  virtual std::string config() const = 0;                ///< as a JSON object: make_model makes the same of it

  /// The longest sequence it takes, in tokens, or 0 for any.
  virtual std::int64_t max_length() const noexcept = 0;

  /// The config() for a model of that task that begins with this one's parameters (weft train --from): what is this
  /// task's alone is left out.
  virtual std::string config_for(Task task) const;
  /// Whether a classifier leaves token 0 out as padding; else rows may be filled up with any token.
  virtual bool skips_padding() const noexcept { return true; }
  /// Whether its outputs are features in place of logits: an encoder alone, to go on from and to run in programs.
  virtual bool gives_features() const noexcept { return false; }

  /// tokens (b, n) i64 -> logits: (b, n, vocabulary) for language models, (b, classes) for classifiers, where token 0
  /// is padding if it skips_padding(). Dropout is on if `dropout` is given. Error if n is 0 or exceeds max_length(), or for a token that is
  /// not in the vocabulary. The logits are bf16 where precision() is.
  virtual Tensor operator()(const Tensor& tokens, const Random* dropout = nullptr) const = 0;

  /// Appends the parameters, each by a name of its own that begins with `prefix`: checkpoints find them by it.
  virtual void collect(const std::string& prefix, NamedParameters& out) const = 0;
  /// All of them, always in the same order. They are handles: what is written to one is written to the model.
  NamedParameters parameters() const;

  /// A new, empty text. Error unless it is a causal language model. Unless the architecture knows better, each token
  /// costs a forward pass over the last max_length() tokens.
  virtual std::unique_ptr<TokenStream> stream() const;
  /// Why each token that stream() appends costs a forward pass over the text, for users to read: "its architecture …";
  /// empty if it doesn't.
  virtual std::string why_stream_is_slow() const;

  /// What it computes in: no property of the model, but of how it is run. An architecture of one's own reads it where it
  /// embeds its tokens (in_precision): all that follows is of that dtype. One that doesn't computes as its parameters are.
  Precision precision() const noexcept { return precision_; }
  /// f32 unless it is set: for training, evaluation, token streams and whatever calls it. Error in bf16 unless all
  /// parameters are f32 or quantised (weft/quantize.h).
  void set_precision(Precision precision);

  /// Whether a pass that is recorded keeps of each layer its input alone, and backward computes the layer again
  /// (weft/recompute.h): the same gradients, bit by bit, in the memory of one layer, for the time of one forward pass more. No
  /// property of the model, either: an architecture of one's own reads it where it runs its layers.
  bool recomputes() const noexcept { return recomputes_; }
  /// False unless it is set.
  void set_recompute(bool recompute) noexcept { recomputes_ = recompute; }

 private:
  Precision precision_ = Precision::f32;
  bool recomputes_ = false;
};

/// What to make.
struct ModelSpec {
  std::string arch;             ///< name of the architecture
  Task task = Task::causal_lm;  ///< one of the architecture's tasks
  std::int64_t vocabulary = 0;  ///< symbols of the input (for a masked language model: with the mask symbol)
  std::int64_t classes = 0;     ///< classifiers alone
  std::string config = "{}";    ///< JSON object of the architecture's own fields; those left out have their defaults
};

/// A model with the initial values that `init` draws: the same for the same init.random.
/// Error for an unknown architecture (weft/architecture.h), key or value, sizes that don't fit, or a task that the
/// architecture can't do (a causal language model whose mixer sees the future).
std::unique_ptr<Model> make_model(const ModelSpec& spec, const Init& init);

/// What an architecture checks first, named `model` in messages: Error unless tokens are i64 (b, n) with
/// 1 <= n <= max_length (0: any).
void check_tokens(const std::string& model, const Tensor& tokens, std::int64_t max_length);

}  // namespace weft
#pragma GCC visibility pop
