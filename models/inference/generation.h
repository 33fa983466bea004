// The state of a Generation, which a GenerationBatch takes over.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "inference/chooser.h"
#include "inference/guesses.h"

namespace weft {
struct Generation::Impl {
  Impl(const Model& of, const Tokenizer& of_model, std::vector<std::int64_t> prompt, const GenerateOptions& given)
      : Impl(of, of_model, given) {
    if (prompt.empty()) prompt = {empty_prompt_symbol(of_model)};
    prompt_symbols = std::ssize(prompt);
    sample.before = prompt.back();
    if (options.speculate) {
      guesses.emplace(*model);
      for (std::int64_t symbol : prompt) guesses->add(symbol);
    }
    stream = model->stream();
    logits = stream->append(Tensor::from(prompt, {1, prompt_symbols}));
  }
  // Another continuation of the prompt that `other` has read, without a stream.
  Impl(const Impl& other, std::uint64_t seed) : Impl(*other.model, *other.tokenizer, other.options) {
    options.seed = seed;
    sample.random = Random(seed);
    sample.before = other.sample.before;
    prompt_symbols = other.prompt_symbols;
    logits = other.logits;
  }

  bool has_ended() const noexcept { return ended || symbols == options.tokens; }
  // Computes the logits for the next symbol unless they are known.
  void read_last() {
    if (logits.defined()) return;
    if (guesses) logits = guesses->append_last(*stream, options.tokens - symbols);
    else logits = stream->append(Tensor::from<std::int64_t>({sample.before}, {1, 1}));
  }
  // From now on, symbols are not guessed. The stream contains only symbols that were chosen.
  void stop_guessing() {
    if (guesses) guesses->take_back(*stream);
    guesses.reset();
  }
  GeneratedSymbol choose_next() {
    if (guesses) guesses->make_room();
    GeneratedSymbol symbol = chooser.next(sample, logits, symbols);
    if (guesses) guesses->add(symbol.id);
    logits = Tensor();
    ++symbols;
    ended = symbol.is_last;
    return symbol;
  }

  const Model* model;
  const Tokenizer* tokenizer;
  GenerateOptions options;
  detail::Chooser chooser;
  std::unique_ptr<TokenStream> stream;  // null if a GenerationBatch has the stream
  Tensor logits;                        // for the next symbol; undefined until the previous one is appended
  detail::Sample sample;
  std::optional<detail::Guesses> guesses;  // if the options say so, and no GenerationBatch has the stream
  std::int64_t symbols = 0, prompt_symbols = 0;
  bool ended = false;

 private:
  Impl(const Model& of, const Tokenizer& of_model, const GenerateOptions& given)
      : model(&of),
        tokenizer(&of_model),
        options(given),
        chooser(*tokenizer, options),
        sample{Random(options.seed), detail::StopFilter(options.stop), 0} {}
};

}  // namespace weft
