#include "text/word_list.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <unordered_map>

#include "base/json.h"
#include "text/utf8.h"
#include "weft/vocabulary.h"

namespace weft::detail {
namespace {

constexpr std::int64_t pad = 0, unknown = 1, cls = 2;
constexpr const char* first_symbols[] = {"[pad]", "[unk]", "[cls]"};
constexpr const char* mask_symbol = "[mask]";

class WordList : public Tokenizer {
 public:
  WordList(const WordRule& rule, const std::vector<std::string>& words, bool with_mask)
      : rule_(rule), vocabulary_(Vocabulary::of_symbols(with_special(words, with_mask))), with_mask_(with_mask) {}

  const char* kind() const noexcept override { return rule_.name; }
  std::int64_t size() const noexcept override { return vocabulary_.size(); }
  SpecialIds special() const noexcept override {
    SpecialIds ids = {unknown, pad, cls, {}};
    if (with_mask_) ids.mask = size() - 1;
    return ids;
  }

  std::vector<std::int64_t> encode(std::string_view text, const TextPlace& place) const override {
    check_utf8(text, place);
    std::vector<std::int64_t> ids;
    rule_.split(text, [&](const std::string& word) { ids.push_back(vocabulary_.find(word).value_or(unknown)); });
    return ids;
  }

  std::size_t cut(std::string_view text) const override {
    while (!text.empty() && !rule_.ends_word(static_cast<unsigned char>(text.back()))) text.remove_suffix(1);
    return text.size();
  }

  using Tokenizer::decode;
  std::string decode(std::int64_t id) const override { return vocabulary_.symbol(id); }
  std::string separator(std::int64_t, std::int64_t) const override { return " "; }

  std::string to_json() const override {
    const auto& all = vocabulary_.symbols();
    const std::vector<std::string> words(all.begin() + std::ssize(first_symbols), all.end() - with_mask_);
    nlohmann::ordered_json json{{"unit", rule_.name}, {"words", words}};
    if (with_mask_) json["mask"] = true;
    return json.dump();
  }

 private:
  static std::vector<std::string> with_special(const std::vector<std::string>& words, bool with_mask) {
    std::vector<std::string> all(std::begin(first_symbols), std::end(first_symbols));
    all.insert(all.end(), words.begin(), words.end());
    if (with_mask) all.push_back(mask_symbol);
    return all;
  }

  WordRule rule_;
  Vocabulary vocabulary_;
  bool with_mask_;
};

// Counts how often each word occurs. Whenever there are more than `most` distinct words, the rarest are forgotten, so
// their counts may be too low.
class Counts {
 public:
  void add(const std::string& word) {
    ++counts_[word];
    while (counts_.size() > most) forget_rarest();
  }

  // Returns the most frequent words in descending order. Words that are equally frequent are in the order of their
  // bytes.
  std::vector<std::string> frequent(std::int64_t limit, std::int64_t min_count) const {
    std::vector<std::pair<std::string, std::int64_t>> order;
    for (const auto& entry : counts_)
      if (entry.second >= min_count && !is_special(entry.first)) order.push_back(entry);
    std::sort(order.begin(), order.end(), [](const auto& a, const auto& b) {
      return a.second != b.second ? a.second > b.second : a.first < b.first;
    });
    if (static_cast<std::int64_t>(order.size()) > limit) order.resize(static_cast<std::size_t>(limit));
    std::vector<std::string> words;
    for (auto& entry : order) words.push_back(std::move(entry.first));
    return words;
  }

 private:
  static constexpr std::size_t most = 1000000;  // about 100 MB

  static bool is_special(const std::string& word) {
    return word == mask_symbol ||
           std::find(std::begin(first_symbols), std::end(first_symbols), word) != std::end(first_symbols);
  }

  void forget_rarest() {
    ++rare_;
    for (auto entry = counts_.begin(); entry != counts_.end();)
      entry = entry->second <= rare_ ? counts_.erase(entry) : std::next(entry);
  }

  std::unordered_map<std::string, std::int64_t> counts_;
  std::int64_t rare_ = 0;
};

std::shared_ptr<const Tokenizer> learn(const WordRule& rule, const Texts& texts, const TokenizerOptions& options) {
  Counts counts;
  texts([&](std::string_view text) {
    check_utf8(text, {});
    rule.split(text, [&](const std::string& word) { counts.add(word); });
  });
  const bool with_mask = options.task.value_or(Task::masked_lm) == Task::masked_lm;
  const std::int64_t special = std::ssize(first_symbols) + with_mask;
  const std::int64_t limit = options.size > 0 ? std::max<std::int64_t>(options.size - special, 0) : INT64_MAX;
  return std::make_shared<WordList>(rule, counts.frequent(limit, options.min_count), with_mask);
}

std::shared_ptr<const Tokenizer> from_json(const WordRule& rule, const std::string& text) {
  const nlohmann::json json = parse_json(text);
  return std::make_shared<WordList>(rule, json.at("words").get<std::vector<std::string>>(), json.value("mask", false));
}

}  // namespace

TokenizerKind word_list_kind(const WordRule& rule) {
  return {rule.name,
          rule.meaning,
          [rule](const Texts& texts, const TokenizerOptions& options) { return learn(rule, texts, options); },
          [rule](const std::string& json) { return from_json(rule, json); },
          20000,
          true,
          true};
}

}  // namespace weft::detail
