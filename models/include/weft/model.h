/// \file
/// Model: the interface that training, evaluation and generation use; and make_model, which makes a model by name.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "weft/input.h"
#include "weft/layers.h"
#include "weft/precision.h"
#include "weft/task.h"

#pragma GCC visibility push(default)
namespace weft {

/// Texts that grow together. A new stream holds one empty text. If the architecture has its own stream, a token costs
/// O(d·n) (gMLP) or O(d·log² n) (TNN) instead of a forward pass over the whole text. A text gives the same bits beside
/// any other texts. One thread uses a stream together with all streams selected from it; several streams of one model
/// may run at once. The model must outlive the stream and keep its parameters and precision: append() is an Error if a
/// parameter was written, or the precision changed, since the first append(). After an Error the texts are as before.
class TokenStream {
 public:
  virtual ~TokenStream() = default;
  /// The number of texts.
  virtual std::int64_t texts() const noexcept = 0;
  /// Appends n >= 1 tokens, 0 … vocabulary-1, to each text: tokens (texts, n) i64 -> the logits (texts, vocabulary) for
  /// the token after the last. Up to rounding, these are the logits of a forward pass over the text, or over its end if
  /// the text is longer than the model takes. Many tokens at once, such as a prompt, cost one forward pass. Nothing is
  /// recorded.
  virtual Tensor append(const Tensor& tokens) = 0;
  /// A stream that continues some of these texts, each as often as its index is in `texts`: {0, 0, 0} are three
  /// continuations of one prompt, {0, 2} leaves out the text between. The streams share memory until one of them writes
  /// it. Throws an Error if there is no index, or for an index that is not in 0 … texts()-1.
  virtual std::unique_ptr<TokenStream> select(const std::vector<std::int64_t>& texts) const = 0;
  /// Appends one token to the only text and returns the logits (vocabulary) for the token after it.
  Tensor next(std::int64_t token);
};

/// Base class for the models of every architecture. Several threads may make const calls, each with its own Context, as
/// long as no thread writes a parameter or sets the precision. Locks protect what layers keep between calls.
class Model {
 public:
  virtual ~Model() = default;

  virtual const char* arch() const noexcept = 0;      ///< "gmlp", "tnn", "fnet", …
  virtual Task task() const noexcept = 0;             ///< the task it was made for
  virtual std::int64_t outputs() const noexcept = 0;  ///< symbols of the vocabulary (language models), or ModelSpec's
  virtual std::int64_t vocabulary() const noexcept = 0;  ///< symbols of the input; 0 if it reads no tokens
  virtual std::string config() const = 0;                ///< a JSON object, from which make_model makes the same model

  /// The numbers that it reads instead of tokens or beside them. By default it reads only tokens.
  virtual InputSpec input() const { return {}; }
  /// The unit of the numbers that it predicts. By default they have none.
  virtual OutputSpec output() const { return {}; }

  /// The longest sequence it takes, in tokens, frames or patches, or 0 for any.
  virtual std::int64_t max_length() const noexcept = 0;

  /// The config() for a model of that task that starts with this model's parameters (weft train --from), without the
  /// fields that only this task uses.
  virtual std::string config_for(Task task) const;
  /// Whether a classifier ignores token 0 as padding. If not, rows may be padded with any token.
  virtual bool skips_padding() const noexcept { return true; }
  /// Whether its outputs are features instead of logits: it is then only an encoder, to train further or to use in
  /// programs.
  virtual bool gives_features() const noexcept { return false; }

  /// tokens (b, n) i64 -> logits: (b, n, vocabulary) for language models, (b, classes) for classifiers, where token 0
  /// is padding if skips_padding(). Dropout is on if `dropout` is given. Throws an Error if n is 0 or exceeds
  /// max_length(), or for a token that is not in the vocabulary. The logits are bf16 if precision() is bf16.
  virtual Tensor operator()(const Tensor& tokens, const Random* dropout = nullptr) const = 0;

  /// The outputs for an input of any kind, with the shape that the task's kind says (weft/task.h). By default it is the
  /// call above, and an Error if there are frames: an architecture that reads frames overrides both.
  virtual Tensor forward(const ModelInput& input, const Random* dropout = nullptr) const;

  /// What the layers make of tokens (b, n) i64, after the final norm and before the head: (b, n, d_model), without
  /// dropout. Throws an Error unless the architecture has them and the model reads only tokens.
  virtual Tensor features(const Tensor& tokens) const;

  /// Appends the parameters. Each has a unique name that begins with `prefix`; checkpoints find parameters by name.
  virtual void collect(const std::string& prefix, NamedParameters& out) const = 0;
  /// All parameters, always in the same order. They are handles: writing to one writes to the model.
  NamedParameters parameters() const;

  /// A new, empty text. Throws an Error unless this is a causal language model. By default each token costs a forward
  /// pass over the last max_length() tokens; an architecture may override this.
  virtual std::unique_ptr<TokenStream> stream() const;
  /// Why each token that stream() appends costs a forward pass over the text, for users to read: "its architecture …".
  /// Empty if it doesn't.
  virtual std::string why_stream_is_slow() const;

  /// The precision of the computation. It is not a property of the model, but of how the model is run. A custom
  /// architecture applies it where it embeds its tokens (in_precision), and all later activations have that dtype. An
  /// architecture that does not apply it computes in the dtype of its parameters.
  Precision precision() const noexcept { return precision_; }
  /// Sets the precision for training, evaluation, token streams and every other use; the default is f32. For bf16,
  /// throws an Error unless all parameters are f32 or quantized (weft/quantize.h).
  void set_precision(Precision precision);

  /// Whether a recorded pass keeps only the input of each layer, and backward computes the layer again
  /// (weft/recompute.h). The gradients have the same bits. Activations take the memory of one layer, and a step takes
  /// the time of one more forward pass. This, too, is not a property of the model: a custom architecture applies it
  /// where it runs its layers.
  bool recomputes() const noexcept { return recomputes_; }
  /// The default is false.
  void set_recompute(bool recompute) noexcept { recomputes_ = recompute; }

 private:
  Precision precision_ = Precision::f32;
  bool recomputes_ = false;
};

/// The arguments of make_model.
struct ModelSpec {
  std::string arch;             ///< name of the architecture
  Task task = Task::causal_lm;  ///< one of the architecture's tasks
  std::int64_t vocabulary = 0;  ///< symbols of the input (for a masked language model: with the mask symbol)
  std::int64_t classes = 0;     ///< outputs of a row or a token; not for language models
  std::string config = "{}";    ///< JSON object of the architecture's own fields; missing fields have their defaults
  InputSpec input = {};         ///< the numbers that it reads; if it reads no tokens, `vocabulary` is 0
  OutputSpec output = {};       ///< the unit of the numbers that it predicts, for one output for each row
};

/// Makes a model with initial values drawn by `init`. The same init.random gives the same values. Throws an Error for
/// an unknown architecture (weft/architecture.h), key or value, for sizes that don't fit, and for a task that the
/// architecture doesn't support (a causal language model whose mixer sees the future).
std::unique_ptr<Model> make_model(const ModelSpec& spec, const Init& init);

/// Checks the input of an architecture, named `model` in messages. Throws an Error unless tokens are i64 (b, n) with 1
/// <= n <= max_length (0: any).
void check_tokens(const std::string& model, const Tensor& tokens, std::int64_t max_length);

/// Checks the input of an architecture, like check_tokens. Throws an Error unless it has tokens if there is a
/// vocabulary, and frames as the spec describes them, both for the same sequences, and nothing else.
void check_input(const std::string& model, const ModelInput& input, const InputSpec& spec, std::int64_t vocabulary,
                 std::int64_t max_length);

}  // namespace weft
#pragma GCC visibility pop
