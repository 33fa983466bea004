/// \file
/// Generation: a causal language model continues a text, one symbol at a time.
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
  std::int64_t tokens = 200;           ///< maximum number of symbols
  double temperature = 1;              ///< divides the logits; 0: always the most likely symbol
  std::int64_t top_k = 0;              ///< choose among the k most probable symbols; 0: among all
  std::uint64_t seed = 1;              ///< the same model, prompt, options and seed give the same text
  double top_p = 1;                    ///< of these, among the most probable that have this probability together
  std::vector<std::string> stop = {};  ///< generation ends before the first of these texts
};

/// Continues a prompt. Reading the prompt costs one forward pass over it; Model::stream describes the cost of a symbol.
/// `out` receives the text of each new symbol as soon as it is known; if a stop text may have begun, this is when it is
/// decided. `out` returns false to stop. Special symbols are never chosen. An empty prompt stands for a line end (or
/// the tokenizer's first symbol). Returns the number of new symbols. An exception of `out` reaches the caller. Throws
/// an Error unless the model is a causal language model, for a prompt that can't be encoded, and for an option out of
/// its range.
std::int64_t generate(const Model& model, const Tokenizer& tokenizer, const std::string& prompt,
                      const GenerateOptions& options, const std::function<bool(const std::string&)>& out);

/// The same text as generate(), to the bit, but one symbol at each call: for programs that can't wait inside a call.
/// One thread at a time may use it. Model and tokenizer must outlive it, and the model must meet the conditions of
/// TokenStream.
class Generation {
 public:
  /// Reads the prompt. The Errors are those of generate().
  Generation(const Model& model, const Tokenizer& tokenizer, const std::string& prompt, const GenerateOptions& options);
  Generation(Generation&&) noexcept;             ///< the source can then only be assigned to or destroyed
  Generation& operator=(Generation&&) noexcept;  ///< the source can then only be assigned to or destroyed
  ~Generation();
  /// The text of the next symbol, which may be empty; no value at the end.
  std::optional<std::string> next();

 private:
  struct [[gnu::visibility("hidden")]] Impl;
  std::unique_ptr<Impl> impl_;
};

/// A piece of one of several continuations.
struct SampleText {
  std::int64_t sample = 0;  ///< 0 … samples - 1
  std::string text;         ///< may be empty
  bool is_last = false;     ///< no more text follows
};

/// Several continuations of one prompt, computed in batches of up to eight. Sample s has the same bits as generate()
/// with the seed options.seed + s. The prompt is read once. `out` receives each symbol as soon as it is known: the
/// samples of a batch in turn, and the first eight samples before the ninth. `out` returns false to end that sample.
/// Returns the number of new symbols in all samples. The Errors are those of generate(), and one for samples below 1.
std::int64_t generate_samples(const Model& model, const Tokenizer& tokenizer, const std::string& prompt,
                              const GenerateOptions& options, std::int64_t samples,
                              const std::function<bool(const SampleText&)>& out);

/// The symbol that u in [0, 1) chooses by softmax(logits / temperature), among the top_k symbols, and of these among
/// the most probable ones that together have the probability top_p (Holtzman et al. 2019, arXiv 1904.09751). logits
/// (vocabulary) may have any real dtype. Throws an Error if a logit is not finite.
std::int64_t sample(const Tensor& logits, double temperature, std::int64_t top_k, double u, double top_p = 1);

}  // namespace weft
#pragma GCC visibility pop
