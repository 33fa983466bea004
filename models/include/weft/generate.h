/// \file
/// Generation: a causal language model continues a text, a symbol at a time.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "weft/model.h"
#include "weft/tokenizer.h"

#pragma GCC visibility push(default)
namespace weft {

/// How a text is continued.
struct GenerateOptions {
  std::int64_t tokens = 200;           ///< how many symbols at most
  double temperature = 1;              ///< divides the logits; 0: always the most likely symbol
  std::int64_t top_k = 0;              ///< choose among the k most likely; 0: among all
  std::uint64_t seed = 1;              ///< of the choices: with the same model, prompt and options they are the same
  double top_p = 1;                    ///< of these among the most likely that have this probability together
  std::vector<std::string> stop = {};  ///< texts before the first of which it ends
};

/// The prompt costs a forward pass over it; what a symbol costs, Model::stream says.
/// Gives `out` the text of each new symbol as soon as it is there (or, if a text to stop at may have begun, as soon as
/// it is known); it returns false to stop. Special symbols are never chosen. An empty prompt stands for a line end (or
/// the tokenizer's first symbol). Returns how many symbols there were. What `out` throws comes back to the caller. Error
/// unless it is a causal language model, for a prompt that can't be encoded, or an option out of its range.
std::int64_t generate(const Model& model, const Tokenizer& tokenizer, const std::string& prompt,
                      const GenerateOptions& options, const std::function<bool(const std::string&)>& out);

/// What generate() gives, to the bit, when it is asked for: for programs that can't wait in a call. One thread's at a time; model
/// and tokenizer must outlive it, and what TokenStream says of the model holds.
class Generation {
 public:
  /// Reads the prompt. Errors are those of generate().
  Generation(const Model& model, const Tokenizer& tokenizer, const std::string& prompt, const GenerateOptions& options);
  Generation(Generation&&) noexcept;             ///< leaves nothing but what can be assigned to
  Generation& operator=(Generation&&) noexcept;  ///< leaves nothing but what can be assigned to
  ~Generation();
  /// The text of the next symbol, which may be empty; none at the end.
  std::optional<std::string> next();

 private:
  struct [[gnu::visibility("hidden")]] Impl;
  std::unique_ptr<Impl> impl_;
};

/// A piece of one of several continuations.
struct SampleText {
  std::int64_t sample = 0;  ///< 0 … samples - 1
  std::string text;         ///< may be empty
  bool is_last = false;     ///< nothing follows
};

/// Several continuations of one prompt, up to eight in one batch: sample s is what generate() gives with the seed
/// options.seed + s, to the last bit. The prompt is read once. Each symbol goes to `out` as soon as it is there: those of
/// the samples in turn, of the first eight before those of the ninth. `out` returns false to end that sample. Returns
/// how many symbols there were in all. Errors are those of generate(), and samples below 1.
std::int64_t generate_samples(const Model& model, const Tokenizer& tokenizer, const std::string& prompt,
                              const GenerateOptions& options, std::int64_t samples,
                              const std::function<bool(const SampleText&)>& out);

/// The symbol that u in [0, 1) chooses among the top_k, of these among the most likely that have the probability top_p
/// together (Holtzman et al. 2019, arXiv 1904.09751), by softmax(logits / temperature); logits (vocabulary) of any real
/// dtype. Error if one is not finite.
std::int64_t sample(const Tensor& logits, double temperature, std::int64_t top_k, double u, double top_p = 1);

}  // namespace weft
#pragma GCC visibility pop
