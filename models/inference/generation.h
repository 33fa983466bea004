// The state of a Generation, which a GenerationBatch takes over.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "inference/chooser.h"

namespace weft {
namespace detail {

// Returns the ids of a prompt. An empty prompt stands for a line end, or for the tokenizer's first symbol.
std::vector<std::int64_t> encode_prompt(const Tokenizer& tokenizer, const std::string& prompt);

}  // namespace detail

struct Generation::Impl {
  Impl(const Model& of, const Tokenizer& tokenizer, const std::string& prompt, GenerateOptions given)
      : model(&of),
        options(std::move(given)),
        chooser(tokenizer, options),
        stream(model->stream()),
        sample{0, Random(options.seed), detail::StopFilter(options.stop), 0} {
    const std::vector<std::int64_t> ids = detail::encode_prompt(tokenizer, prompt);
    prompt_symbols = std::ssize(ids);
    sample.before = ids.back();
    logits = stream->append(Tensor::from(ids, {1, prompt_symbols}));
  }

  bool has_ended() const noexcept { return ended || symbols == options.tokens; }
  // Computes the logits for the next symbol unless they are known.
  void read_last() {
    if (!logits.defined()) logits = stream->append(Tensor::from<std::int64_t>({sample.before}, {1, 1}));
  }
  GeneratedSymbol choose_next() {
    GeneratedSymbol symbol = chooser.next(sample, logits, symbols);
    logits = Tensor();
    ++symbols;
    ended = symbol.is_last;
    return symbol;
  }

  const Model* model;
  GenerateOptions options;
  detail::Chooser chooser;
  std::unique_ptr<TokenStream> stream;  // null in a GenerationBatch after the first step
  Tensor logits;                        // for the next symbol; undefined until the previous one is appended
  detail::Sample sample;
  std::int64_t symbols = 0, prompt_symbols = 0;
  bool ended = false;
};

}  // namespace weft
