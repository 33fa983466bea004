#include "weft/vocabulary.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "base/json.h"
#include "train/utf8.h"
#include "weft/error.h"

namespace weft {
using namespace detail;

namespace {

const char* const special_words[] = {"[pad]", "[unk]", "[cls]"};
const char* const mask_symbol = "[mask]";

bool is_letter(unsigned char byte) noexcept {
  return byte >= 0x80 || (byte >= '0' && byte <= '9') || (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z');
}

template <class Use>
void for_each_word(const std::string& text, Use use) {
  std::string word;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(i < text.size() ? text[i] : ' ');
    if (is_letter(byte)) {
      word += byte >= 'A' && byte <= 'Z' ? static_cast<char>(byte - 'A' + 'a') : text[i];
    } else if (!word.empty()) {
      use(word);
      word.clear();
    }
  }
}

}  // namespace

void Vocabulary::add(const std::string& symbol) {
  if (!ids_.emplace(symbol, static_cast<std::int32_t>(symbols_.size())).second)
    throw Error("[vocabulary] symbol \"" + symbol + "\" comes twice");
  symbols_.push_back(symbol);
}

Vocabulary Vocabulary::of_characters(const std::string& text, bool with_mask) {
  std::set<char32_t> found;
  for_each_code_point(text, "[vocabulary]", [&](char32_t symbol, std::size_t) { found.insert(symbol); });
  Vocabulary vocabulary;
  vocabulary.with_mask_ = with_mask;
  for (char32_t symbol : found) {
    std::string bytes;
    append_utf8(symbol, bytes);
    vocabulary.add(bytes);
  }
  return vocabulary;
}

Vocabulary Vocabulary::of_words(const std::vector<std::string>& texts, std::int64_t limit, std::int64_t min_count) {
  std::unordered_map<std::string, std::int64_t> counts;
  for (const std::string& text : texts) {
    for_each_code_point(text, "[vocabulary]", [](char32_t, std::size_t) {});
    for_each_word(text, [&](const std::string& word) { ++counts[word]; });
  }
  std::vector<std::pair<std::string, std::int64_t>> order;
  for (const auto& entry : counts)
    if (entry.second >= min_count) order.push_back(entry);
  std::sort(order.begin(), order.end(), [](const auto& a, const auto& b) {
    return a.second != b.second ? a.second > b.second : a.first < b.first;
  });
  Vocabulary vocabulary;
  vocabulary.by_words_ = true;
  for (const char* word : special_words) vocabulary.add(word);
  for (const auto& [word, count] : order) {
    if (limit > 0 && vocabulary.size() >= limit) break;
    vocabulary.add(word);
  }
  return vocabulary;
}

std::int64_t Vocabulary::mask() const {
  if (!with_mask_) throw Error("[vocabulary] it has no mask symbol");
  return size() - 1;
}

std::vector<std::int32_t> Vocabulary::encode(const std::string& text) const {
  std::vector<std::int32_t> ids;
  if (by_words_) {
    for_each_word(text, [&](const std::string& word) {
      const auto found = ids_.find(word);
      ids.push_back(found == ids_.end() ? unknown : found->second);
    });
    return ids;
  }
  std::string bytes;
  for_each_code_point(text, "[vocabulary]", [&](char32_t symbol, std::size_t offset) {
    bytes.clear();
    append_utf8(symbol, bytes);
    const auto found = ids_.find(bytes);
    if (found == ids_.end())
      throw Error("[vocabulary] the character " + code_point_name(symbol) + " at byte " + std::to_string(offset) +
                  " is not one of the " + std::to_string(symbols_.size()) + " that the model knows");
    ids.push_back(found->second);
  });
  return ids;
}

std::string Vocabulary::decode(std::int64_t id) const {
  if (id < 0 || id >= size())
    throw Error("[vocabulary] no symbol " + std::to_string(id) + ", there are " + std::to_string(size()));
  return id < static_cast<std::int64_t>(symbols_.size()) ? symbols_[static_cast<std::size_t>(id)] : mask_symbol;
}

std::string Vocabulary::to_json() const {
  nlohmann::ordered_json json{{"unit", by_words_ ? "words" : "characters"}};
  if (by_words_) {
    json["words"] = std::vector<std::string>(symbols_.begin() + std::ssize(special_words), symbols_.end());
  } else {
    std::string text;
    for (const std::string& symbol : symbols_) text += symbol;
    json["characters"] = text;
    json["mask"] = with_mask_;
  }
  return json.dump();
}

Vocabulary Vocabulary::from_json(const std::string& text) {
  try {
    const auto json = parse_json(text);
    const std::string unit = json.at("unit");
    if (unit == "characters") return of_characters(json.at("characters"), json.at("mask"));
    if (unit != "words") throw Error("[vocabulary] unknown unit \"" + unit + "\"");
    Vocabulary vocabulary;
    vocabulary.by_words_ = true;
    for (const char* word : special_words) vocabulary.add(word);
    for (const std::string word : json.at("words")) vocabulary.add(word);
    return vocabulary;
  } catch (const nlohmann::json::exception& error) {
    throw Error(std::string("[vocabulary] it is damaged: ") + error.what());
  }
}

}  // namespace weft
