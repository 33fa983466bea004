// Words are runs of letters and digits, ASCII letters in lower case; symbols beyond ASCII count as letters. What stands
// between them is left out.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <unordered_map>

#include "base/json.h"
#include "text/kinds.h"
#include "text/utf8.h"
#include "weft/vocabulary.h"

namespace weft::detail {
namespace {

const char* const name = "words";
constexpr std::int64_t pad = 0, unknown = 1, cls = 2;
const std::vector<std::string> special_words = {"[pad]", "[unk]", "[cls]"};

bool is_letter(unsigned char byte) noexcept {
  return byte >= 0x80 || (byte >= '0' && byte <= '9') || (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z');
}

template <class Use>
void for_each_word(std::string_view text, Use use) {
  std::string word;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(i < text.size() ? text[i] : ' ');
    if (is_letter(byte)) {
      word += static_cast<char>(byte >= 'A' && byte <= 'Z' ? byte - 'A' + 'a' : byte);
    } else if (!word.empty()) {
      use(word);
      word.clear();
    }
  }
}

class Words : public Tokenizer {
 public:
  explicit Words(const std::vector<std::string>& words) : vocabulary_(Vocabulary::of_symbols(with_special(words))) {}

  const char* kind() const noexcept override { return name; }
  std::int64_t size() const noexcept override { return vocabulary_.size(); }
  SpecialIds special() const noexcept override { return {unknown, pad, cls, {}}; }

  std::vector<std::int64_t> encode(std::string_view text) const override {
    std::vector<std::int64_t> ids;
    for_each_word(text, [&](const std::string& word) { ids.push_back(vocabulary_.find(word).value_or(unknown)); });
    return ids;
  }

  using Tokenizer::decode;
  std::string decode(std::int64_t id) const override { return vocabulary_.symbol(id); }
  std::string separator(std::int64_t, std::int64_t) const override { return " "; }

  std::string to_json() const override {
    const auto& all = vocabulary_.symbols();
    const std::vector<std::string> words(all.begin() + std::ssize(special_words), all.end());
    return nlohmann::ordered_json{{"unit", name}, {"words", words}}.dump();
  }

 private:
  static std::vector<std::string> with_special(const std::vector<std::string>& words) {
    std::vector<std::string> all = special_words;
    all.insert(all.end(), words.begin(), words.end());
    return all;
  }

  Vocabulary vocabulary_;
};

// The most frequent words first, of equally frequent ones in the order of their bytes.
std::shared_ptr<const Tokenizer> learn(const Texts& texts, const TokenizerOptions& options) {
  std::unordered_map<std::string, std::int64_t> counts;
  texts([&](std::string_view text) {
    for_each_code_point(text, "[tokenizer]", [](char32_t, std::size_t) {});
    for_each_word(text, [&](const std::string& word) { ++counts[word]; });
  });
  std::vector<std::pair<std::string, std::int64_t>> order;
  for (const auto& entry : counts)
    if (entry.second >= options.min_count) order.push_back(entry);
  std::sort(order.begin(), order.end(), [](const auto& a, const auto& b) {
    return a.second != b.second ? a.second > b.second : a.first < b.first;
  });
  std::vector<std::string> words;
  for (const auto& entry : order) {
    if (options.size > 0 && std::ssize(words) + std::ssize(special_words) >= options.size) break;
    words.push_back(entry.first);
  }
  return std::make_shared<Words>(words);
}

std::shared_ptr<const Tokenizer> from_json(const std::string& text) {
  const nlohmann::json json = parse_json(text);
  return std::make_shared<Words>(json.at("words").get<std::vector<std::string>>());
}

}  // namespace

TokenizerKind words_kind() {
  return {name, "words of letters and digits, in lower case, without what stands between them", learn, from_json};
}

}  // namespace weft::detail
