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
#include "weft/visibility.h"

WEFT_PUBLIC_BEGIN
namespace weft {

/// How to continue a text.
struct GenerateOptions {
  std::int64_t tokens = 200;  ///< maximum number of symbols
  double temperature = 1;     ///< divides the logits; 0: always the most probable symbol
  std::int64_t top_k = 0;     ///< samples from the k most probable symbols; 0: from all
  std::uint64_t seed = 1;     ///< the same model, prompt, options and seed give the same text
  /// Among the symbols that top_k allows, samples from the most probable ones whose probabilities add up to top_p.
  double top_p = 1;
  std::vector<std::string> stop = {};  ///< generation ends before the first occurrence of one of these texts
  bool log_probabilities = false;      ///< whether to compute GeneratedSymbol::log_probability
  std::int64_t alternatives = 0;       ///< the number of symbols in GeneratedSymbol::most_probable
  /// Whether to guess the next symbols from repetitions in the text, and to check several guesses in one reading of the
  /// weights (speculative decoding). The symbols and their probabilities are exactly the same. Texts that repeat
  /// themselves are generated faster if the time is spent on reading weights, as for large models. Has no effect on
  /// texts that grow together in a batch, or if TokenStream::most_at_once() is 1.
  bool speculate = false;
};

/// A symbol with the natural logarithm of its probability: softmax over the logits of all symbols that may be chosen,
/// before temperature, top_k and top_p are applied. -infinity for a special symbol, which can't be chosen.
struct SymbolProbability {
  std::int64_t id = 0;         ///< its index in the vocabulary
  double log_probability = 0;  ///< natural logarithm
};

/// A generated symbol.
struct GeneratedSymbol {
  std::int64_t id = 0;         ///< its index in the vocabulary
  std::string text;            ///< the text that can be passed on now; may be empty
  double log_probability = 0;  ///< as in SymbolProbability; 0 unless GenerateOptions::log_probabilities is true
  /// The GenerateOptions::alternatives most probable symbols in this place, the most probable one first.
  std::vector<SymbolProbability> most_probable = {};
  bool is_last = false;     ///< whether generation ends with this symbol
  bool is_stopped = false;  ///< whether it ends because of a stop text, and not because of GenerateOptions::tokens
  std::string error = {};   ///< GenerationBatch: why the text can't be continued; then is_last is true
  bool is_out_of_memory = false;  ///< whether `error` is a lack of memory
};

/// Continues a prompt. Reading the prompt costs one forward pass. Model::stream describes the cost of each new symbol.
/// `out` receives the text of a symbol as soon as it is known. Text that could be the beginning of a stop text is held
/// back until the next symbols show whether it is one. `out` returns false to end the generation. Special symbols are
/// never chosen. An empty prompt stands for a line end, or for the tokenizer's first symbol if the tokenizer has no
/// line end. Returns the number of new symbols. An exception that `out` throws reaches the caller. Throws an Error if
/// the model is not a causal language model, if the prompt can't be encoded, or if an option is out of its range.
std::int64_t generate(const Model& model, const Tokenizer& tokenizer, const std::string& prompt,
                      const GenerateOptions& options, const std::function<bool(const std::string&)>& out);

/// Returns the symbol that an empty prompt stands for: a line end, or 0 if the tokenizer has no line end.
std::int64_t empty_prompt_symbol(const Tokenizer& tokenizer);

/// Generates the same text as generate(), bit for bit, but one symbol per call. Use it in programs that can't wait
/// inside a call. Only one thread may use a Generation at a time. The model and the tokenizer must outlive it, and the
/// model must meet the conditions of TokenStream.
class Generation {
 public:
  /// Reads the prompt. Throws the Errors of generate().
  Generation(const Model& model, const Tokenizer& tokenizer, const std::string& prompt, const GenerateOptions& options);
  /// Reads a prompt that is given as indices in the vocabulary. An empty list stands for an empty prompt.
  Generation(const Model& model, const Tokenizer& tokenizer, const std::vector<std::int64_t>& prompt,
             const GenerateOptions& options);
  Generation(Generation&&) noexcept;             ///< afterwards the source can only be assigned to or destroyed
  Generation& operator=(Generation&&) noexcept;  ///< afterwards the source can only be assigned to or destroyed
  ~Generation();
  /// Returns the text of the next symbol, which may be empty, or no value at the end.
  std::optional<std::string> next();
  /// Does the same, but returns more about the symbol.
  std::optional<GeneratedSymbol> next_symbol();
  /// The number of symbols in the prompt.
  std::int64_t prompt_symbols() const noexcept;
  /// Returns another continuation of the same prompt, with the same options except for the seed. The prompt is not read
  /// again. Throws an Error if this generation already has symbols.
  Generation with_seed(std::uint64_t seed) const;

 private:
  friend class GenerationBatch;
  struct WEFT_HIDDEN Impl;
  explicit Generation(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

/// New text of one of several continuations.
struct SampleText {
  std::int64_t sample = 0;  ///< 0 … samples - 1
  std::string text;         ///< may be empty
  bool is_last = false;     ///< whether this is the last text of the sample
};

/// Continues texts together that begin and end at different times, as a server does for many clients. Up to eight texts
/// share each reading of the weights. Each text has the same bits as if its Generation continued alone. Only one thread
/// may use a GenerationBatch at a time, but other threads may construct Generations of the same model meanwhile. The
/// model and the tokenizers must outlive the batch.
class GenerationBatch {
 public:
  /// Receives each symbol of a text. Returns false to end the text. Must not throw. If a text can't be continued, for
  /// example because its logits are not finite, or because the streams of its architecture can't be joined
  /// (TokenStream::join), the function receives the reason, and the other texts continue.
  using Out = std::function<bool(const GeneratedSymbol&)>;

  GenerationBatch();
  GenerationBatch(GenerationBatch&&) noexcept;  ///< afterwards the source can only be assigned to or destroyed
  GenerationBatch& operator=(
      GenerationBatch&&) noexcept;  ///< afterwards the source can only be assigned to or destroyed
  ~GenerationBatch();

  /// Takes over a generation, which takes part in the next step. Throws an Error if the generation has ended, or if the
  /// batch has texts of another model.
  void add(Generation generation, Out out);
  /// Chooses the next symbol of each text. Removes the texts that have ended. Returns the number of texts that are left.
  /// If it throws an Error, because memory is exhausted or the model was changed, no text has a new symbol, and the next
  /// step tries again.
  std::int64_t step();
  /// The number of texts.
  std::int64_t size() const noexcept;

 private:
  friend std::int64_t generate_samples(const Model& model, const Tokenizer& tokenizer, const std::string& prompt,
                                       const GenerateOptions& options, std::int64_t samples,
                                       const std::function<bool(const SampleText&)>& out);
  struct WEFT_HIDDEN Impl;
  std::unique_ptr<Impl> impl_;
};

/// Computes several continuations of one prompt, in batches of up to eight. Sample s has the same bits as the result of
/// generate() with the seed options.seed + s. The prompt is read only once. `out` receives each symbol as soon as it is
/// known: the samples of a batch take turns, and the first eight samples precede the ninth. If `out` returns false, the
/// sample whose text it received ends. Returns the number of new symbols in all samples. Throws the Errors of
/// generate(), and an Error if samples < 1.
std::int64_t generate_samples(const Model& model, const Tokenizer& tokenizer, const std::string& prompt,
                              const GenerateOptions& options, std::int64_t samples,
                              const std::function<bool(const SampleText&)>& out);

/// How probable each symbol of a text is after the symbols before it.
struct ScoredSymbol {
  SymbolProbability symbol;  ///< a symbol of the text
  std::vector<SymbolProbability>
      most_probable;  ///< the most probable symbols in its place, the most probable one first
};

/// Returns an element for each symbol of a text except the first one, which follows nothing. `text` contains indices in
/// the vocabulary. Each element has the `alternatives` most probable symbols. The text is read in one forward pass.
/// Throws an Error if the model is not a causal language model, or if the text is longer than Model::max_length().
std::vector<ScoredSymbol> score_text(const Model& model, const Tokenizer& tokenizer,
                                     const std::vector<std::int64_t>& text, std::int64_t alternatives = 0);

/// Returns the symbol that u in [0, 1) selects from the distribution softmax(logits / temperature). Only the top_k most
/// probable symbols take part, and of these only the most probable ones whose probabilities add up to top_p (Holtzman
/// et al. 2019, arXiv 1904.09751). The logits (vocabulary) may have any real dtype. Throws an Error if a logit is not
/// finite.
std::int64_t sample(const Tensor& logits, double temperature, std::int64_t top_k, double u, double top_p = 1);

}  // namespace weft
WEFT_PUBLIC_END
