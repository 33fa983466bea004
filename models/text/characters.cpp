// Each code point is a symbol. With special symbols for classifiers, the order of ids is [pad], [unk], [cls], then the
// code points in ascending order. Without them, it is the code points, then [unk]. If there is a [mask], it has the
// last id. Tokenizers of earlier versions have no [unk], so an unknown character is an Error.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "text/kinds.h"
#include "text/utf8.h"
#include "weft/vocabulary.h"

namespace weft::detail {
namespace {

const char* const name = "characters";

// The special symbols that a tokenizer has.
struct Special {
  bool unknown, classifier, mask;
};

class Characters : public Tokenizer {
 public:
  // `characters` must be in ascending order.
  Characters(const std::u32string& characters, const Special& special)
      : characters_(characters), special_(special), vocabulary_(Vocabulary::of_symbols(symbols(characters, special))) {
    if (!characters.empty()) id_of_.assign(characters.back() + 1, unknown_or_none());
    for (std::size_t i = 0; i < characters.size(); ++i) id_of_[characters[i]] = static_cast<std::int32_t>(first() + i);
  }

  const char* kind() const noexcept override { return name; }
  std::int64_t size() const noexcept override { return vocabulary_.size(); }
  SpecialIds special() const noexcept override {
    SpecialIds ids;
    if (special_.classifier) ids = {1, 0, 2, {}};
    else if (special_.unknown) ids.unknown = static_cast<std::int64_t>(characters_.size());
    if (special_.mask) ids.mask = size() - 1;
    return ids;
  }

  std::vector<std::int64_t> encode(std::string_view text, const TextPlace& place) const override {
    std::vector<std::int64_t> ids;
    ids.reserve(text.size());
    for_each_code_point(text, place, [&](char32_t character, std::size_t at) {
      const std::int32_t id = character < id_of_.size() ? id_of_[character] : unknown_or_none();
      if (id < 0)
        throw Error(prefix(place) + "the character " + code_point_name(character) + " at " + byte_name(place, at) +
                    " is not one of the " + std::to_string(characters_.size()) + " that the model knows");
      ids.push_back(id);
    });
    return ids;
  }

  std::size_t cut(std::string_view text) const override { return whole_code_points(text); }

  using Tokenizer::decode;
  std::string decode(std::int64_t id) const override { return vocabulary_.symbol(id); }

  std::string to_json() const override {
    std::string text;
    for (char32_t character : characters_) append_utf8(character, text);
    nlohmann::ordered_json json{{"unit", name}, {"characters", text}, {"mask", special_.mask}};
    if (special_.unknown) json["unknown"] = true;
    if (special_.classifier) json["classifier"] = true;
    return json.dump();
  }

 private:
  static std::vector<std::string> symbols(const std::u32string& characters, const Special& special) {
    std::vector<std::string> all;
    if (special.classifier) all = {"[pad]", "[unk]", "[cls]"};
    for (char32_t character : characters) append_utf8(character, all.emplace_back());
    if (special.unknown && !special.classifier) all.push_back("[unk]");
    if (special.mask) all.push_back("[mask]");
    return all;
  }

  std::size_t first() const noexcept { return special_.classifier ? 3 : 0; }  // id of the first character
  std::int32_t unknown_or_none() const noexcept { return static_cast<std::int32_t>(special().unknown.value_or(-1)); }

  std::u32string characters_;
  Special special_;
  Vocabulary vocabulary_;
  std::vector<std::int32_t> id_of_;  // by code point; -1 if there is no id
};

std::shared_ptr<const Tokenizer> learn(const Texts& texts, const TokenizerOptions& options) {
  std::vector<std::int64_t> counts(0x110000);  // by code point
  texts([&](std::string_view text) {
    for_each_code_point(text, TextPlace{}, [&](char32_t character, std::size_t) { ++counts[character]; });
  });
  const bool classifier = options.task.value_or(Task::classifier) == Task::classifier;
  const bool mask = options.task.value_or(Task::masked_lm) == Task::masked_lm;
  std::u32string characters;
  for (char32_t c = 0; c < counts.size(); ++c)
    if (counts[c] > 0) characters += c;
  const std::int64_t limit = std::max<std::int64_t>(options.size - (classifier ? 3 : 1) - mask, 0);
  if (options.size > 0 && std::ssize(characters) > limit) {
    std::sort(characters.begin(), characters.end(),
              [&](char32_t a, char32_t b) { return counts[a] != counts[b] ? counts[a] > counts[b] : a < b; });
    characters.resize(static_cast<std::size_t>(limit));
    std::sort(characters.begin(), characters.end());
  }
  return std::make_shared<Characters>(characters, Special{true, classifier, mask});
}

std::shared_ptr<const Tokenizer> from_json(const std::string& text) {
  const nlohmann::json json = parse_json(text);
  std::u32string characters;
  for_each_code_point(json.at("characters").get_ref<const std::string&>(), TextPlace{},
                      [&](char32_t character, std::size_t) { characters += character; });
  std::sort(characters.begin(), characters.end());
  const bool classifier = json.value("classifier", false);
  return std::make_shared<Characters>(
      characters, Special{classifier || json.value("unknown", false), classifier, json.at("mask").get<bool>()});
}

}  // namespace

TokenizerKind characters_kind() { return {name, "each character is a symbol", learn, from_json}; }

}  // namespace weft::detail
