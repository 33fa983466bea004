#include "weft/generate.h"

#include <algorithm>

#include "inference/generation.h"
#include "weft/context.h"
#include "weft/detail/out_of_memory.h"
#include "weft/error.h"
#include "weft/ops.h"

namespace weft {
using namespace detail;

std::vector<std::int64_t> detail::encode_prompt(const Tokenizer& tokenizer, const std::string& prompt) {
  std::vector<std::int64_t> ids = tokenizer.encode(prompt);
  if (!ids.empty()) return ids;
  for (std::int64_t id = tokenizer.size() - 1; id > 0; --id)
    if (tokenizer.decode(id) == "\n") return {id};
  return {0};
}

namespace {

void check(const GenerateOptions& options) {
  if (!(options.temperature >= 0) || options.top_k < 0 || options.tokens < 0)
    throw Error("[generate] expected temperature, top_k and tokens of at least 0");
  if (!(options.top_p > 0 && options.top_p <= 1))
    throw Error("[generate] expected top_p above 0 and at most 1, got " + std::to_string(options.top_p));
  for (const std::string& stop : options.stop)
    if (stop.empty()) throw Error("[generate] a stop text is empty");
}

// Continues any number of samples.
class Continuation {
 public:
  Continuation(const Tokenizer& tokenizer, const GenerateOptions& options,
               const std::function<bool(const SampleText&)>& out)
      : chooser_(tokenizer, options), tokens_(options.tokens), out_(out) {}

  // The stream has one text for each of the b samples. `logits` (b, vocabulary) are for their next symbols. Returns the
  // number of symbols that were chosen.
  std::int64_t run(std::unique_ptr<TokenStream> stream, Tensor logits, std::vector<Sample> samples) const {
    std::int64_t symbols = 0;
    for (std::int64_t i = 0; i < tokens_; ++i) {
      std::vector<std::int64_t> going_on, ids;
      for (std::int64_t row = 0; row < std::ssize(samples); ++row, ++symbols)
        if (add_symbol(samples[static_cast<std::size_t>(row)], slice(logits, 0, row, row + 1), i)) {
          going_on.push_back(row);
          ids.push_back(samples[static_cast<std::size_t>(row)].before);
        }
      if (going_on.empty()) break;
      if (going_on.size() < samples.size()) {
        stream = stream->select(going_on);
        std::vector<Sample> others;
        for (std::int64_t row : going_on) others.push_back(std::move(samples[static_cast<std::size_t>(row)]));
        samples = std::move(others);
      }
      logits = stream->append(Tensor::from(ids, {std::ssize(ids), 1}));
    }
    return symbols;
  }

 private:
  // Returns whether the sample continues.
  bool add_symbol(Sample& sample, const Tensor& logits, std::int64_t i) const {
    const GeneratedSymbol symbol = chooser_.next(sample, logits, i);
    return out_({sample.index, symbol.text, symbol.is_last}) && !symbol.is_last;
  }

  Chooser chooser_;
  std::int64_t tokens_;
  const std::function<bool(const SampleText&)>& out_;
};

// The number of samples in one batch. Larger: hardly faster, and more memory, because each sample stores what it has
// read.
constexpr std::int64_t samples_at_once = 8;

void check_belongs(const Tokenizer& tokenizer, const Model& model) {
  if (tokenizer.size() != model.vocabulary())
    throw Error("[generate] the tokenizer has " + std::to_string(tokenizer.size()) + " symbols, but the model has " +
                std::to_string(model.vocabulary()) + ": the two do not belong together");
}

}  // namespace

std::int64_t generate_samples(const Model& model, const Tokenizer& tokenizer, const std::string& prompt,
                              const GenerateOptions& options, std::int64_t samples,
                              const std::function<bool(const SampleText&)>& out) try {
  check(options);
  if (samples < 1) throw Error("[generate] expected at least one sample, got " + std::to_string(samples));
  check_belongs(tokenizer, model);
  auto stream = model.stream();
  const std::vector<std::int64_t> ids = encode_prompt(tokenizer, prompt);
  const Continuation continuation(tokenizer, options, out);
  std::int64_t symbols = 0;
  Context::current().parallel_region([&] {
    const Tensor logits = stream->append(Tensor::from(ids, {1, std::ssize(ids)}));  // (1, vocabulary)
    for (std::int64_t first = 0; first < samples; first += samples_at_once) {
      const std::int64_t count = std::min(samples_at_once, samples - first);
      std::vector<Sample> batch;
      for (std::int64_t s = first; s < first + count; ++s)
        batch.push_back(
            {s, Random(options.seed + static_cast<std::uint64_t>(s)), StopFilter(options.stop), ids.back()});
      auto texts = stream->select(std::vector<std::int64_t>(static_cast<std::size_t>(count), 0));
      if (first + count == samples) stream.reset();  // its own text shares memory with the samples
      symbols += continuation.run(std::move(texts), expand(logits, {count, logits.size(1)}), std::move(batch));
    }
  });
  return symbols;
} catch (const std::bad_alloc&) {
  fail_out_of_memory("generate");
}

std::int64_t generate(const Model& model, const Tokenizer& tokenizer, const std::string& prompt,
                      const GenerateOptions& options, const std::function<bool(const std::string&)>& out) {
  return generate_samples(model, tokenizer, prompt, options, 1,
                          [&](const SampleText& piece) { return out(piece.text); });
}

Generation::Generation(const Model& model, const Tokenizer& tokenizer, const std::string& prompt,
                       const GenerateOptions& options) {
  guard_memory("generate", [&] {
    check(options);
    check_belongs(tokenizer, model);
    Context::current().parallel_region([&] { impl_ = std::make_unique<Impl>(model, tokenizer, prompt, options); });
  });
}
Generation::Generation(Generation&&) noexcept = default;
Generation& Generation::operator=(Generation&&) noexcept = default;
Generation::~Generation() = default;

std::optional<std::string> Generation::next() {
  std::optional<GeneratedSymbol> symbol = next_symbol();
  return symbol ? std::optional(std::move(symbol->text)) : std::nullopt;
}

std::optional<GeneratedSymbol> Generation::next_symbol() {
  return guard_memory("generate", [&]() -> std::optional<GeneratedSymbol> {
    if (impl_->has_ended()) return std::nullopt;
    GeneratedSymbol symbol;
    Context::current().parallel_region([&] {
      impl_->read_last();
      symbol = impl_->choose_next();
    });
    return symbol;
  });
}

std::int64_t Generation::prompt_symbols() const noexcept { return impl_->prompt_symbols; }

}  // namespace weft
