/// \file
/// Tokenizers: how a text becomes the ids that a model reads, and how ids become text. Each checkpoint holds a
/// tokenizer. A host program may add its own kinds. Functions that load a checkpoint then find these kinds by name.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weft/task.h"
#include "weft/tensor.h"
#include "weft/visibility.h"

WEFT_PUBLIC_BEGIN
namespace weft {

/// Special ids, which stand for no text. A tokenizer may lack some of them.
struct SpecialIds {
  std::optional<std::int64_t> unknown = {};  ///< stands for any symbol that the tokenizer doesn't have
  std::optional<std::int64_t> pad = {};      ///< padding
  std::optional<std::int64_t> cls = {};      ///< begins a row of texts, for example in a classifier
  std::optional<std::int64_t> mask = {};     ///< hides a symbol that is to be predicted
  /// Ends each text of a sequence. If it exists, rows of classifiers and of fill_mask have the form [cls] text [sep].
  /// Windows of a long text don't have this form.
  std::optional<std::int64_t> sep = {};

  /// Whether the id is one of the special ids.
  bool has(std::int64_t id) const noexcept {
    return id == unknown || id == pad || id == cls || id == mask || id == sep;
  }
};

/// The origin of a text, for use in messages.
struct TextPlace {
  std::string name = {};     ///< for example a file name in quotation marks; empty if there is none
  std::uint64_t offset = 0;  ///< number of bytes before the text
};

/// Throws an Error that names the first byte that isn't UTF-8.
void check_utf8(std::string_view text, const TextPlace& place);

/// Converts texts to ids 0 … size()-1 and back. Objects are immutable, so threads may share them.
class Tokenizer {
 public:
  virtual ~Tokenizer() = default;

  virtual const char* kind() const noexcept = 0;    ///< "characters", "words", …
  virtual std::int64_t size() const noexcept = 0;   ///< number of symbols, including special ones
  virtual SpecialIds special() const noexcept = 0;  ///< the special ids of this tokenizer
  /// Returns the ids of a text, in order. Throws an Error that names the position in the text if the text is not UTF-8
  /// (unless the tokenizer takes any bytes), or if the text contains a symbol that the tokenizer doesn't have and there
  /// is no id for unknown symbols.
  virtual std::vector<std::int64_t> encode(std::string_view text, const TextPlace& place) const = 0;
  /// Does the same, but messages don't name the origin of the text.
  std::vector<std::int64_t> encode(std::string_view text) const { return encode(text, TextPlace{}); }
  /// Whether encode() also takes bytes that are not UTF-8.
  virtual bool takes_any_bytes() const noexcept;
  /// Returns the position at which a long text can be split for encoding it piece by piece. The position is the length,
  /// in bytes, of the longest prefix that can be encoded on its own. Whatever text follows, the ids of the whole text
  /// are the ids of the prefix followed by the ids of the remainder. Returns 0 if there is no such prefix. By default
  /// this function always returns 0.
  virtual std::size_t cut(std::string_view text) const;
  /// Returns the text of one id. Special ids have names such as "[mask]". Throws an Error if there is no such id.
  virtual std::string decode(std::int64_t id) const = 0;
  /// Returns the text that separates the texts of two consecutive ids.
  virtual std::string separator(std::int64_t before, std::int64_t id) const;
  /// Returns the text of consecutive ids.
  std::string decode(const std::vector<std::int64_t>& ids) const;
  /// Returns the complete tokenizer as a JSON object, in which "unit" is the kind.
  virtual std::string to_json() const = 0;
};

/// Whether both tokenizers have the same kind and give the same ids to the same texts.
bool operator==(const Tokenizer& a, const Tokenizer& b);
bool operator!=(const Tokenizer& a, const Tokenizer& b);  ///< the opposite of ==

/// A source of texts from which a tokenizer is learned. It is a function that takes a second function as its argument
/// and calls it with each text in turn. Every call must give the same texts.
using Texts = std::function<void(const std::function<void(std::string_view)>&)>;

/// Options for a tokenizer that is learned.
struct TokenizerOptions {
  /// Determines the special symbols. Without a value, the tokenizer has all special symbols, so it suits every task.
  std::optional<Task> task = {};
  std::int64_t size = 0;            ///< the maximum number of symbols; 0: no limit (bpe, unigram: 8000)
  std::int64_t min_count = 1;       ///< the minimum number of occurrences of a word
  std::int64_t min_characters = 2;  ///< kind ngrams: minimum length of the n-grams of characters
  std::int64_t max_characters = 4;  ///< kind ngrams: maximum length of the n-grams of characters; 0: no such n-grams
  std::int64_t max_words = 1;       ///< kind ngrams: maximum length of the n-grams of words
};

/// A kind of tokenizer.
struct TokenizerKind {
  std::string name;     ///< the name that Tokenizer::kind() returns
  std::string meaning;  ///< a one-line description
  /// Learns the symbols from texts. If a text is not UTF-8, it throws an Error that names the byte offset. Several
  /// threads may call it at the same time.
  std::function<std::shared_ptr<const Tokenizer>(const Texts&, const TokenizerOptions&)> learn;
  /// Reads what to_json() wrote. Throws an Error for anything else. Several threads may call it at the same time.
  std::function<std::shared_ptr<const Tokenizer>(const std::string& json)> from_json;
  std::int64_t usual_size = 0;  ///< the default that programs use for TokenizerOptions::size; 0: no limit
  bool has_size = true;         ///< whether `learn` uses TokenizerOptions::size
  bool has_min_count = false;   ///< whether `learn` uses TokenizerOptions::min_count
  /// If false, `learn` always throws an Error, because tokenizers of this kind can only be read from files.
  bool is_learned = true;
};

/// The character U+001F (unit separator), which separates the two texts of a pair.
constexpr char pair_separator = '\x1f';
/// Joins two texts, such as a premise and a hypothesis or a question and an answer, into one row of a model. You can
/// use such a pair wherever a row has a text. The tokens of a pair are [cls] first [sep] second [sep]. If the tokenizer
/// has no [sep], they are [cls] first [cls] second. If it has neither, nothing separates the two texts. If a pair is
/// too long, the longer text is truncated first. A pair_separator inside one of the texts becomes a blank.
std::string text_pair(const std::string& first, const std::string& second);

/// Returns the ids of a text as the tokens of one sequence, (1, n) i64. Throws an Error if there are no ids.
Tensor encode_tensor(const Tokenizer& tokenizer, std::string_view text);
/// Converts texts to rows of a classifier, (b, n) i64. Each row is [cls], the ids of the text and [sep], if the
/// tokenizer has these. A row is truncated to at most `longest` tokens (0: no limit). Rows are padded to the length of
/// the longest row, and to at least `pad_to` tokens. Unless `longest` is 0, `pad_to` must not exceed it. Throws an
/// Error if there is no text, if rows differ in length and the tokenizer has no padding symbol, or if a row has no
/// token.
Tensor encode_rows(const Tokenizer& tokenizer, const std::vector<std::string>& texts, std::int64_t longest = 0,
                   std::int64_t pad_to = 0);

/// Adds a kind to weft's own, for the rest of the process. Throws an Error and adds nothing if its name is taken, or if
/// it has no name or lacks a function. Any thread may call these functions at any time.
void register_tokenizer(TokenizerKind kind);
/// Returns the kind of that name. Throws an Error if there is none. The reference stays valid for the rest of the
/// process.
const TokenizerKind& tokenizer_kind(const std::string& name);
std::vector<std::string> tokenizer_kinds();  ///< the names of all kinds, weft's own first

/// Learns a tokenizer of that kind from the texts. Like all functions in this header that make a tokenizer, it throws
/// an Error if memory runs out.
std::shared_ptr<const Tokenizer> learn_tokenizer(const std::string& kind, const Texts& texts,
                                                 const TokenizerOptions& options = {});
/// Does the same for one text.
std::shared_ptr<const Tokenizer> learn_tokenizer(const std::string& kind, const std::string& text,
                                                 const TokenizerOptions& options = {});
/// Does the same for several texts.
std::shared_ptr<const Tokenizer> learn_tokenizer(const std::string& kind, const std::vector<std::string>& texts,
                                                 const TokenizerOptions& options = {});

/// The tokenizer of a model that reads no tokens (weft/input.h). It has no symbols, and its encode() always throws an
/// Error.
std::shared_ptr<const Tokenizer> no_tokenizer();

/// Makes a tokenizer of any registered kind, or no_tokenizer(), from JSON. Throws an Error unless Tokenizer::to_json()
/// wrote the JSON.
std::shared_ptr<const Tokenizer> tokenizer_from_json(const std::string& json);

}  // namespace weft
WEFT_PUBLIC_END
