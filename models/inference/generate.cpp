#include "weft/generate.h"

#include <algorithm>

#include "inference/generation.h"
#include "weft/context.h"
#include "weft/detail/out_of_memory.h"
#include "weft/error.h"
#include "weft/ops.h"

namespace weft {
using namespace detail;

std::int64_t empty_prompt_symbol(const Tokenizer& tokenizer) {
  for (std::int64_t id = tokenizer.size() - 1; id > 0; --id)
    if (tokenizer.decode(id) == "\n") return id;
  return 0;
}

void detail::check_belongs(const char* function, const Tokenizer& tokenizer, const Model& model) {
  if (tokenizer.size() != model.vocabulary())
    throw Error(std::string("[") + function + "] the tokenizer has " + std::to_string(tokenizer.size()) +
                " symbols, but the model has " + std::to_string(model.vocabulary()) +
                ": the two do not belong together");
}

namespace {

void check(const GenerateOptions& options) {
  if (!(options.temperature >= 0) || options.top_k < 0 || options.tokens < 0 || options.alternatives < 0)
    throw Error("[generate] expected temperature, top_k, tokens and alternatives of at least 0");
  if (!(options.top_p > 0 && options.top_p <= 1))
    throw Error("[generate] expected top_p above 0 and at most 1, got " + std::to_string(options.top_p));
  for (const std::string& stop : options.stop)
    if (stop.empty()) throw Error("[generate] a stop text is empty");
}

// Checks first whether the model can continue a text at all.
std::vector<std::int64_t> encode_prompt(const Model& model, const Tokenizer& tokenizer, const std::string& prompt) {
  return guard_memory("generate", [&] {
    check_belongs("generate", tokenizer, model);
    (void)model.stream();
    return tokenizer.encode(prompt);
  });
}

}  // namespace

std::int64_t generate(const Model& model, const Tokenizer& tokenizer, const std::string& prompt,
                      const GenerateOptions& options, const std::function<bool(const std::string&)>& out) {
  return generate_samples(model, tokenizer, prompt, options, 1,
                          [&](const SampleText& piece) { return out(piece.text); });
}

Generation::Generation(const Model& model, const Tokenizer& tokenizer, const std::string& prompt,
                       const GenerateOptions& options)
    : Generation(model, tokenizer, encode_prompt(model, tokenizer, prompt), options) {}

Generation::Generation(const Model& model, const Tokenizer& tokenizer, const std::vector<std::int64_t>& prompt,
                       const GenerateOptions& options) {
  guard_memory("generate", [&] {
    check(options);
    check_belongs("generate", tokenizer, model);
    Context::current().parallel_region([&] { impl_ = std::make_unique<Impl>(model, tokenizer, prompt, options); });
  });
}

Generation::Generation(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
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

Generation Generation::with_seed(std::uint64_t seed) const {
  if (impl_->symbols > 0) throw Error("[generate] expected a generation without symbols, got one that has begun");
  return guard_memory("generate", [&] {
    auto other = std::make_unique<Impl>(*impl_, seed);
    other->stream = impl_->stream->select({0});
    other->guesses = impl_->guesses;
    return Generation(std::move(other));
  });
}

}  // namespace weft
