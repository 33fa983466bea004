// Model: what training, evaluation and generation need of an architecture; and how one is made by name.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "weft/layers.h"
#include "weft/task.h"

#pragma GCC visibility push(default)
namespace weft {

// A text that grows a token at a time, at O(n·d) a token instead of a forward pass over all of it.
class TokenStream {
 public:
  virtual ~TokenStream() = default;
  // Appends a token and gives the logits (vocab) for the next one, equal to those of the full forward pass.
  virtual Tensor next(std::int64_t token) = 0;
};

class Model {
 public:
  virtual ~Model() = default;

  virtual const char* arch() const noexcept = 0;  // "gmlp", "tnn", "fnet", …
  virtual Task task() const noexcept = 0;
  virtual std::int64_t outputs() const noexcept = 0;  // symbols of the vocabulary (lm) or classes
  virtual std::int64_t vocabulary() const noexcept = 0;  // symbols of the input
  virtual std::string config() const = 0;         // every field, as a JSON object

  // The longest sequence it takes, or 0 for any.
  virtual std::int64_t max_length() const noexcept = 0;

  // tokens (b, n) i64 -> logits: (b, n, vocabulary) for language models, (b, classes) for classifiers, where token 0 is
  // padding. Dropout is on if `dropout` is given. Error if n is 0 or exceeds max_length().
  virtual Tensor operator()(const Tensor& tokens, const Random* dropout = nullptr) const = 0;

  virtual void collect(const std::string& prefix, NamedParameters& out) const = 0;
  NamedParameters parameters() const;

  // Error unless it is a causal language model. Unless the architecture knows better, each token costs a forward pass
  // over the last max_length() tokens.
  virtual std::unique_ptr<TokenStream> stream() const;
};

// What to make. `config` is a JSON object of the architecture's own fields; those left out have their defaults.
struct ModelSpec {
  std::string arch;
  Task task = Task::causal_lm;
  std::int64_t vocabulary = 0;  // symbols of the input (for a masked-LM: with the mask symbol)
  std::int64_t classes = 0;     // classifiers alone
  std::string config = "{}";
};

// Error for an unknown architecture (weft/architecture.h), key or value, sizes that don't fit, or a task that the
// architecture can't do (a causal language model whose mixer sees the future).
std::unique_ptr<Model> make_model(const ModelSpec& spec, const Init& init);

/// What an architecture checks first, named `model` in messages: Error unless tokens are i64 (b, n) with
/// 1 <= n <= max_length (0: any).
void check_tokens(const std::string& model, const Tensor& tokens, std::int64_t max_length);

}  // namespace weft
#pragma GCC visibility pop
