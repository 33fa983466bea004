/// \file
/// Vocabulary: the symbols of a model's input and their ids 0 … size()-1. By characters for language models, by words
/// for classifiers. It is saved with a checkpoint.
#pragma once
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#pragma GCC visibility push(default)
namespace weft {

/// Symbols, each with an id. Const calls may come from several threads.
class Vocabulary {
 public:
  static constexpr std::int32_t pad = 0;      ///< by words: fills sequences up
  static constexpr std::int32_t unknown = 1;  ///< by words: any word that it doesn't have
  static constexpr std::int32_t cls = 2;      ///< by words: begins each sequence

  Vocabulary() = default;  ///< empty, by characters

  /// The code points of a UTF-8 text, sorted; with_mask: and one more symbol, the last, that masks others.
  static Vocabulary of_characters(const std::string& text, bool with_mask = false);
  /// The most frequent words, at most limit symbols in all (0: any number), of those that occur min_count times or
  /// more. Words are runs of letters and digits, ASCII letters in lower case; symbols beyond ASCII count as letters.
  /// Both: Error for invalid UTF-8, naming the byte offset.
  static Vocabulary of_words(const std::vector<std::string>& texts, std::int64_t limit = 0, std::int64_t min_count = 1);

  /// False: by characters.
  bool by_words() const noexcept { return by_words_; }
  /// The number of symbols, those included that stand for no character or word.
  std::int64_t size() const noexcept { return static_cast<std::int64_t>(symbols_.size()) + with_mask_; }
  std::int64_t mask() const;  ///< Error if it has none

  /// Ids of the text's characters or words, in their order.
  /// By characters: Error for invalid UTF-8 and for a character that it doesn't have, naming the byte offset.
  /// By words: a word that it doesn't have is `unknown`.
  std::vector<std::int32_t> encode(const std::string& text) const;
  /// The symbol of an id. Error if there is none.
  std::string decode(std::int64_t id) const;

  std::string to_json() const;                           ///< all of it
  static Vocabulary from_json(const std::string& json);  ///< Error unless to_json wrote it

  /// Whether both give the same ids to the same symbols.
  bool operator==(const Vocabulary& other) const {
    return by_words_ == other.by_words_ && with_mask_ == other.with_mask_ && symbols_ == other.symbols_;
  }
  /// The opposite of ==.
  bool operator!=(const Vocabulary& other) const { return !(*this == other); }

 private:
  void add(const std::string& symbol);

  bool by_words_ = false, with_mask_ = false;
  std::vector<std::string> symbols_;
  std::unordered_map<std::string, std::int32_t> ids_;
};

}  // namespace weft
#pragma GCC visibility pop
