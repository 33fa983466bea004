// Each code point is a symbol.
#include <nlohmann/json.hpp>
#include <set>

#include "base/json.h"
#include "text/kinds.h"
#include "text/utf8.h"
#include "weft/vocabulary.h"

namespace weft::detail {
namespace {

const char* const name = "characters";

class Characters : public Tokenizer {
 public:
  Characters(const std::set<char32_t>& characters, bool with_mask)
      : vocabulary_(Vocabulary::of_symbols(symbols(characters))), with_mask_(with_mask) {
    ids_.assign(characters.empty() ? 0 : *characters.rbegin() + 1, -1);
    std::int32_t id = 0;
    for (char32_t character : characters) ids_[character] = id++;
  }

  const char* kind() const noexcept override { return name; }
  std::int64_t size() const noexcept override { return vocabulary_.size() + with_mask_; }
  SpecialIds special() const noexcept override {
    SpecialIds ids;
    if (with_mask_) ids.mask = size() - 1;
    return ids;
  }

  std::vector<std::int64_t> encode(std::string_view text) const override {
    std::vector<std::int64_t> ids;
    for_each_code_point(text, "[tokenizer]", [&](char32_t character, std::size_t offset) {
      const std::int32_t id = character < ids_.size() ? ids_[character] : -1;
      if (id < 0)
        throw Error("[tokenizer] the character " + code_point_name(character) + " at byte " + std::to_string(offset) +
                    " is not one of the " + std::to_string(vocabulary_.size()) + " that the model knows");
      ids.push_back(id);
    });
    return ids;
  }

  using Tokenizer::decode;
  std::string decode(std::int64_t id) const override {
    return with_mask_ && id == vocabulary_.size() ? "[mask]" : vocabulary_.symbol(id);
  }

  std::string to_json() const override {
    std::string text;
    for (const std::string& symbol : vocabulary_.symbols()) text += symbol;
    return nlohmann::ordered_json{{"unit", name}, {"characters", text}, {"mask", with_mask_}}.dump();
  }

 private:
  static std::vector<std::string> symbols(const std::set<char32_t>& characters) {
    std::vector<std::string> all;
    for (char32_t character : characters) append_utf8(character, all.emplace_back());
    return all;
  }

  Vocabulary vocabulary_;
  std::vector<std::int32_t> ids_;  // by code point; -1: none
  bool with_mask_;
};

void add_characters(std::string_view text, std::set<char32_t>& found) {
  for_each_code_point(text, "[tokenizer]", [&](char32_t character, std::size_t) { found.insert(character); });
}

std::shared_ptr<const Tokenizer> learn(const Texts& texts, const TokenizerOptions& options) {
  std::set<char32_t> found;
  texts([&](std::string_view text) { add_characters(text, found); });
  return std::make_shared<Characters>(found, options.task == Task::masked_lm);
}

std::shared_ptr<const Tokenizer> from_json(const std::string& text) {
  const nlohmann::json json = parse_json(text);
  std::set<char32_t> characters;
  add_characters(json.at("characters").get_ref<const std::string&>(), characters);
  return std::make_shared<Characters>(characters, json.at("mask").get<bool>());
}

}  // namespace

TokenizerKind characters_kind() { return {name, "each character is a symbol", learn, from_json}; }

}  // namespace weft::detail
