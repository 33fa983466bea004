#include "weft/tokenizer.h"

#include "base/json.h"
#include "base/names.h"
#include "base/registry.h"
#include "text/kinds.h"
#include "weft/detail/out_of_memory.h"

namespace weft {
using namespace detail;

namespace {

// The table is made at the first call, so there is no static initializer that a linker could drop.
Registry<TokenizerKind>& registry() {
  // Add new kinds here.
  static Registry<TokenizerKind> made = {
      characters_kind(), bytes_kind(), words_kind(), wordpunct_kind(), whitespace_kind(), ngrams_kind(), ids_kind(),
  };
  return made;
}

}  // namespace

void register_tokenizer(TokenizerKind added) {
  if (added.name.empty() || !added.learn || !added.from_json)
    throw Error("[tokenizer] kind \"" + added.name +
                "\": expected a name, and functions that learn and read a tokenizer");
  registry().add(std::move(added), [](const TokenizerKind& kind, const TokenizerKind& known) {
    if (kind.name == known.name) throw Error("[tokenizer] the name \"" + kind.name + "\" is taken");
  });
}

const TokenizerKind& tokenizer_kind(const std::string& name) {
  if (const TokenizerKind* found = registry().find(name)) return *found;
  for (const char* optional : {"unigram", "bpe", "sentencepiece", "fnet"})
    if (name == optional)
      throw Error("[tokenizer] kind \"" + name +
                  "\" needs SentencePiece, which this program lacks: install its package " +
                  "(Debian: apt-get install libsentencepiece-dev) and build weft again; weft/sentencepiece.h adds it "
                  "to a program");
  throw Error("[tokenizer] unknown kind \"" + name + "\", expected one of " + detail::join(tokenizer_kinds()));
}

std::vector<std::string> tokenizer_kinds() { return registry().names(); }

bool Tokenizer::takes_any_bytes() const noexcept { return false; }

std::size_t Tokenizer::cut(std::string_view) const { return 0; }

std::string Tokenizer::separator(std::int64_t, std::int64_t) const { return ""; }

std::string Tokenizer::decode(const std::vector<std::int64_t>& ids) const {
  std::string text;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (i > 0) text += separator(ids[i - 1], ids[i]);
    text += decode(ids[i]);
  }
  return text;
}

bool operator==(const Tokenizer& a, const Tokenizer& b) { return &a == &b || a.to_json() == b.to_json(); }
bool operator!=(const Tokenizer& a, const Tokenizer& b) { return !(a == b); }

std::shared_ptr<const Tokenizer> learn_tokenizer(const std::string& kind, const Texts& texts,
                                                 const TokenizerOptions& options) {
  return guard_memory("tokenizer", [&] { return tokenizer_kind(kind).learn(texts, options); });
}

std::shared_ptr<const Tokenizer> learn_tokenizer(const std::string& kind, const std::string& text,
                                                 const TokenizerOptions& options) {
  return learn_tokenizer(kind, Texts([&](const auto& use) { use(text); }), options);
}

std::shared_ptr<const Tokenizer> learn_tokenizer(const std::string& kind, const std::vector<std::string>& texts,
                                                 const TokenizerOptions& options) {
  const auto each = [&](const auto& use) {
    for (const std::string& text : texts) use(text);
  };
  return learn_tokenizer(kind, Texts(each), options);
}

std::shared_ptr<const Tokenizer> tokenizer_from_json(const std::string& text) try {
  const nlohmann::json json = parse_json(text);
  if (json.is_null()) return no_tokenizer();
  if (json.is_discarded()) throw Error("[tokenizer] the tokenizer is damaged: expected JSON; it may be truncated");
  if (!json.is_object() || !json.contains("unit"))
    throw Error("[tokenizer] the tokenizer is damaged: expected an object with \"unit\", the tokenizer's kind");
  return tokenizer_kind(json.at("unit")).from_json(text);
} catch (const nlohmann::json::exception& error) {
  throw Error(std::string("[tokenizer] the tokenizer is damaged: ") + error.what());
} catch (const std::bad_alloc&) {
  fail_out_of_memory("tokenizer");
}

}  // namespace weft
