/// \file
/// Model: the interface that training, evaluation and generation use. make_model makes a model of an architecture,
/// which it finds by its name.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "weft/input.h"
#include "weft/layers.h"
#include "weft/precision.h"
#include "weft/task.h"
#include "weft/visibility.h"

WEFT_PUBLIC_BEGIN
namespace weft {

/// Texts that grow together, token by token. A new stream holds one empty text. If the architecture has its own stream,
/// appending a token costs O(d·n) (gMLP) or O(d·log² n) (TNN) instead of a forward pass over the whole text. The
/// results for a text have the same bits whatever other texts are in the stream. Only one thread at a time may use a
/// stream and the streams selected from it. Several streams of one model may run at the same time. The model must
/// outlive the stream. Its parameters and its precision must not change: append() throws an Error if someone wrote a
/// parameter or changed the precision after the first append(). After an Error, the texts are unchanged.
class TokenStream {
 public:
  virtual ~TokenStream() = default;
  /// The number of texts.
  virtual std::int64_t texts() const noexcept = 0;
  /// Appends n >= 1 tokens, 0 … vocabulary-1, to each text. tokens: (texts, n) i64. Returns the logits (texts,
  /// vocabulary) for the token after the last. Up to rounding, these are the logits of a forward pass over the text, or
  /// over its end if the text is longer than max_length(). Many tokens in one call, such as a prompt, cost one forward
  /// pass. No tape records the call.
  virtual Tensor append(const Tensor& tokens) = 0;
  /// The maximum number of tokens for the next append_each(), at least 1. It is 1 unless the stream holds one text, and
  /// the architecture can take back tokens.
  virtual std::int64_t most_at_once() const noexcept { return 1; }
  /// Appends tokens (1, n) i64 to the only text, one after the other, 1 <= n <= most_at_once(). Returns the logits (n,
  /// vocabulary). Row i is for the token after token i, and has the same bits as the result of n calls of append(). The
  /// weights are read only once. By default this calls append(). Throws the Errors of append().
  virtual Tensor append_each(const Tensor& tokens);
  /// Removes the last tokens of the latest append_each(), of which at least one must be left. By default this throws an
  /// Error unless `count` is 0. Throws an Error if there are fewer such tokens, or if another function has changed the
  /// texts since.
  virtual void take_back(std::int64_t count);
  /// Returns a stream that continues some of these texts, each as often as its index occurs in `texts`. For example,
  /// {0, 0, 0} makes three continuations of one prompt, and {0, 2} omits text 1. The streams share memory until one of
  /// them writes to it. Throws an Error if the list is empty, or for an index outside 0 … texts()-1.
  virtual std::unique_ptr<TokenStream> select(const std::vector<std::int64_t>& texts) const = 0;
  /// Moves the texts of another stream of the same model to the end of this stream. They may have other lengths.
  /// Afterwards `other` can only be destroyed. By default this throws an Error, because the architecture's streams can't
  /// be joined. weft's architectures override it. Throws an Error if `other` belongs to another model.
  virtual void join(TokenStream& other);
  /// Appends one token to the stream's only text. Returns the logits (vocabulary) for the token after it.
  Tensor next(std::int64_t token);
};

/// The base class for models of every architecture. Several threads may make const calls, each with its own Context, as
/// long as no thread writes a parameter or sets the precision. Locks protect what layers keep between calls.
class Model {
 public:
  virtual ~Model() = default;

  virtual const char* arch() const noexcept = 0;  ///< "gmlp", "tnn", "fnet", …
  virtual Task task() const noexcept = 0;         ///< the task that the model was made for
  /// Number of outputs: the symbols of the vocabulary for language models, ModelSpec::classes for other tasks.
  virtual std::int64_t outputs() const noexcept = 0;
  /// The number of symbols in the vocabulary; 0 if the model reads no tokens.
  virtual std::int64_t vocabulary() const noexcept = 0;
  virtual std::string config() const = 0;  ///< a JSON object; make_model makes the same model from it

  /// The numbers that the model reads instead of tokens, or in addition to them. By default the model reads only
  /// tokens.
  virtual InputSpec input() const { return {}; }
  /// Converts the results of the last layer to the unit of the targets. By default they are not converted.
  virtual OutputSpec output() const { return {}; }

  /// The maximum length of a sequence, in tokens, frames or patches; 0: no limit.
  virtual std::int64_t max_length() const noexcept = 0;

  /// The config() for a model of the given task that starts with this model's parameters (weft train --from). Fields
  /// that only other tasks use have their default values.
  virtual std::string config_for(Task task) const;
  /// Whether models with outputs for each row ignore token 0 as padding. If not, rows may be padded with any token.
  virtual bool skips_padding() const noexcept { return true; }
  /// Whether the model's outputs are features instead of logits. Such a model is only an encoder, for further training
  /// or for use in programs.
  virtual bool gives_features() const noexcept { return false; }

  /// tokens (b, n) i64 -> logits: (b, n, vocabulary) for language models, (b, classes) for classifiers. In a
  /// classifier, token 0 is padding if skips_padding(). Dropout is active if `dropout` is given. Throws an Error if n
  /// is 0 or exceeds max_length(), or if a token is not in the vocabulary. The logits are bf16 if precision() is bf16.
  virtual Tensor operator()(const Tensor& tokens, const Random* dropout = nullptr) const = 0;

  /// Returns the outputs for an input of any kind. The task determines their shape (OutputShape in weft/task.h). By
  /// default this calls operator(), and throws an Error if there are frames. An architecture that reads frames
  /// overrides both functions.
  virtual Tensor forward(const ModelInput& input, const Random* dropout = nullptr) const;

  /// The hidden states for tokens (b, n) i64, after the final norm and before the head: (b, n, d_model), without
  /// dropout. Throws an Error if the architecture doesn't support this, or if the model reads frames.
  virtual Tensor features(const Tensor& tokens) const;

  /// Appends the parameters. Each has a unique name that begins with `prefix`. Checkpoints find parameters by name.
  virtual void collect(const std::string& prefix, NamedParameters& out) const = 0;
  /// All parameters, always in the same order. They are handles, so writing to one of them writes to the model.
  NamedParameters parameters() const;

  /// Makes a new, empty text. Throws an Error unless this is a causal language model. By default each token costs a
  /// forward pass over the last max_length() tokens. An architecture may override this.
  virtual std::unique_ptr<TokenStream> stream() const;
  /// The reason why each token that is appended to stream() costs a forward pass over the text, for use in messages,
  /// such as "its architecture …". The result is empty if a token costs less.
  virtual std::string why_stream_is_slow() const;
  /// Estimates the memory in bytes that stream() keeps for one text of this many tokens. A server needs the estimate
  /// before it reads a prompt, so that many long texts don't exhaust the memory. The estimate should rather be too large
  /// than too small. It does not include the activations of a single call. By default it is the size of a list of
  /// tokens, because the default stream() keeps nothing else.
  virtual std::int64_t stream_bytes(std::int64_t tokens) const;

  /// The precision of the computation. It is not a property of the model, but of how the model is run. A custom
  /// architecture applies the precision where it embeds its tokens (in_precision). All later activations then have that
  /// dtype. An architecture that does not apply the precision computes in the dtype of its parameters.
  Precision precision() const noexcept { return precision_; }
  /// Sets the precision for training, evaluation, token streams and every other use. The default is f32. Throws an
  /// Error for bf16 unless all parameters are f32 or quantized (weft/quantize.h).
  void set_precision(Precision precision);

  /// Whether a recorded forward pass keeps only the input of each layer, so that backward computes the layer again
  /// (weft/recompute.h). The gradients have the same bits. The activations of only one layer are then in memory, and a
  /// step takes longer by the time of one forward pass. Like the precision, recomputation is not a property of the
  /// model, but of how the model is run. A custom architecture applies it where it runs its layers.
  bool recomputes() const noexcept { return recomputes_; }
  /// Sets recomputes(). The default is false.
  void set_recompute(bool recompute) noexcept { recomputes_ = recompute; }

 private:
  Precision precision_ = Precision::f32;
  bool recomputes_ = false;
};

/// The arguments of make_model.
struct ModelSpec {
  std::string arch;             ///< name of the architecture
  Task task = Task::causal_lm;  ///< one of the architecture's tasks
  std::int64_t vocabulary = 0;  ///< number of symbols in the vocabulary, including special symbols such as [mask]
  std::int64_t classes = 0;     ///< number of outputs for each row or token; not used for language models
  std::string config = "{}";    ///< the architecture's own fields, a JSON object; missing fields have their defaults
  InputSpec input = {};         ///< the numbers that the model reads; if it reads no tokens, `vocabulary` is 0
  OutputSpec output = {};       ///< converts results to the unit of the targets, for tasks with outputs for each row
};

/// Makes a model whose initial values come from `init`. The same init.random gives the same values. Throws an Error if
/// the architecture (weft/architecture.h), a key or a value is unknown, if a size is invalid, or if the architecture
/// doesn't support the task (for example, a causal language model of an architecture whose mixer sees later tokens).
std::unique_ptr<Model> make_model(const ModelSpec& spec, const Init& init);

/// Checks the input of a model. Messages name the architecture as `model`. Throws an Error unless tokens are i64 (b, n)
/// with 1 <= n <= max_length (0: no limit).
void check_tokens(const std::string& model, const Tensor& tokens, std::int64_t max_length);

/// Checks the input of a model, as check_tokens does. Throws an Error if the input has tokens but there is no
/// vocabulary, if there is a vocabulary but the input has no tokens, if the frames don't match the spec, or if tokens
/// and frames differ in the number or the length of their sequences.
void check_input(const std::string& model, const ModelInput& input, const InputSpec& spec, std::int64_t vocabulary,
                 std::int64_t max_length);

}  // namespace weft
WEFT_PUBLIC_END
