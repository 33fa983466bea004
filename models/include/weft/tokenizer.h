/// \file
/// Tokenizers: how a text becomes the ids that a model reads, and back. Each checkpoint holds one. A host program may
/// add its own kinds. Checkpoints and everything that works on them then find these kinds by name.
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

#pragma GCC visibility push(default)
namespace weft {

/// Ids that stand for no text. A tokenizer need not have all of them.
struct SpecialIds {
  std::optional<std::int64_t> unknown = {};  ///< any symbol that the tokenizer doesn't have
  std::optional<std::int64_t> pad = {};      ///< padding
  std::optional<std::int64_t> cls = {};      ///< begins the sequence of a classifier
  std::optional<std::int64_t> mask = {};     ///< hides a symbol that is to be predicted
  /// Ends each text of a sequence. With it, the rows of classifiers and of fill_mask are [cls] text [sep]; windows of a
  /// long text are not.
  std::optional<std::int64_t> sep = {};

  /// Whether the id is one of them.
  bool has(std::int64_t id) const noexcept {
    return id == unknown || id == pad || id == cls || id == mask || id == sep;
  }
};

/// The origin of a text, for messages.
struct TextPlace {
  std::string name = {};     ///< for example a file's name in quotation marks; empty if it has none
  std::uint64_t offset = 0;  ///< number of bytes before the text
};

/// Throws an Error that names the first byte that isn't UTF-8.
void check_utf8(std::string_view text, const TextPlace& place);

/// Converts texts to ids 0 … size()-1 and back. It never changes once it is made, so threads may share it.
class Tokenizer {
 public:
  virtual ~Tokenizer() = default;

  virtual const char* kind() const noexcept = 0;    ///< "characters", "words", …
  virtual std::int64_t size() const noexcept = 0;   ///< number of symbols, including special ones
  virtual SpecialIds special() const noexcept = 0;  ///< those that it has
  /// The text's ids, in order. Throws an Error that names the place for invalid UTF-8 (unless it takes any bytes), and
  /// for a symbol that it doesn't have if it has no id for unknown symbols.
  virtual std::vector<std::int64_t> encode(std::string_view text, const TextPlace& place) const = 0;
  /// The same without a place.
  std::vector<std::int64_t> encode(std::string_view text) const { return encode(text, TextPlace{}); }
  /// Whether encode() also takes bytes that are not UTF-8.
  virtual bool takes_any_bytes() const noexcept;
  /// Where a long text can be split so that it can be encoded piece by piece. Returns the length, in bytes, of the
  /// longest prefix of the text that can be encoded on its own: whatever text follows, the ids of the prefix and then
  /// those of the remainder are the ids of everything. Returns 0 if there is no such prefix, as the default does.
  virtual std::size_t cut(std::string_view text) const;
  /// The text of one id; special ids have names like "[mask]". Throws an Error if there is no such id.
  virtual std::string decode(std::int64_t id) const = 0;
  /// The text between the texts of two consecutive ids.
  virtual std::string separator(std::int64_t before, std::int64_t id) const;
  /// The text of consecutive ids.
  std::string decode(const std::vector<std::int64_t>& ids) const;
  /// The complete tokenizer as a JSON object, with the kind as "unit".
  virtual std::string to_json() const = 0;
};

/// Whether both are of one kind and give the same ids to the same texts.
bool operator==(const Tokenizer& a, const Tokenizer& b);
bool operator!=(const Tokenizer& a, const Tokenizer& b);  ///< the opposite of ==

/// Texts to learn from, one after the other. It calls its argument with each text; every call of it gives the same
/// texts.
using Texts = std::function<void(const std::function<void(std::string_view)>&)>;

/// Options for a tokenizer that is learned.
struct TokenizerOptions {
  std::optional<Task> task = {};    ///< decides which special symbols it has; none: all, so that it suits every task
  std::int64_t size = 0;            ///< the maximum number of symbols; 0: no limit (bpe, unigram: 8000)
  std::int64_t min_count = 1;       ///< the minimum number of occurrences of a word
  std::int64_t min_characters = 2;  ///< of the kind ngrams: the shortest n-grams of a word's characters
  std::int64_t max_characters = 4;  ///< of the kind ngrams: the longest; 0: none
  std::int64_t max_words = 1;       ///< of the kind ngrams: the longest n-grams of words
};

/// A kind of tokenizer.
struct TokenizerKind {
  std::string name;     ///< what Tokenizer::kind() returns
  std::string meaning;  ///< a one-line description
  /// Learns the symbols from texts. Throws an Error for invalid UTF-8, naming the byte offset. Several threads may call
  /// it at once.
  std::function<std::shared_ptr<const Tokenizer>(const Texts&, const TokenizerOptions&)> learn;
  /// Reads what to_json() wrote; anything else is an Error. Several threads may call it at once.
  std::function<std::shared_ptr<const Tokenizer>(const std::string& json)> from_json;
  std::int64_t usual_size = 0;  ///< the default that programs use for TokenizerOptions::size; 0: no limit
  bool has_size = true;         ///< whether learn uses TokenizerOptions::size
  bool has_min_count = false;   ///< whether learn uses TokenizerOptions::min_count
  bool is_learned = true;       ///< false: learn always throws an Error; such tokenizers are read from files
};

/// The character U+001F (unit separator), which separates the two texts of a pair.
constexpr char pair_separator = '\x1f';
/// Two texts as one row of a model: a premise and a hypothesis, a question and an answer. Wherever a row has a text, it
/// may have such a pair. Its tokens are [cls] first [sep] second [sep]; a tokenizer without [sep] repeats [cls] instead:
/// [cls] first [cls] second. If it has neither, nothing separates the two. If a pair is too long, the longer text is
/// truncated first. A separator within the texts becomes a blank.
std::string text_pair(const std::string& first, const std::string& second);

/// A text's ids as a model takes them: (1, n) i64, those of encode(). Throws an Error if there are none.
Tensor encode_tensor(const Tokenizer& tokenizer, std::string_view text);
/// Texts as rows of a classifier, (b, n) i64. Each row is [cls], the text's ids and [sep], if the tokenizer has these.
/// It is truncated to at most `longest` tokens (0: no limit), and padded to the longest row, or to `pad_to`, which then
/// is at most `longest`. Throws an Error if there is no text, if rows differ in length and the tokenizer has no
/// padding, or for a row without a token.
Tensor encode_rows(const Tokenizer& tokenizer, const std::vector<std::string>& texts, std::int64_t longest = 0,
                   std::int64_t pad_to = 0);

/// Adds a kind to weft's own, for the rest of the process. If its name is taken, or if it has no name or lacks a
/// function, this throws an Error and adds nothing. Any thread may call these functions at any time.
void register_tokenizer(TokenizerKind kind);
/// The kind of that name; an Error if there is none. The reference stays valid for the rest of the process.
const TokenizerKind& tokenizer_kind(const std::string& name);
std::vector<std::string> tokenizer_kinds();  ///< their names, weft's own first

/// Learns a tokenizer of that kind from the texts. Like all functions here that make one, it throws an Error if memory
/// runs out.
std::shared_ptr<const Tokenizer> learn_tokenizer(const std::string& kind, const Texts& texts,
                                                 const TokenizerOptions& options = {});
/// The same for one text.
std::shared_ptr<const Tokenizer> learn_tokenizer(const std::string& kind, const std::string& text,
                                                 const TokenizerOptions& options = {});
/// The same for several texts.
std::shared_ptr<const Tokenizer> learn_tokenizer(const std::string& kind, const std::vector<std::string>& texts,
                                                 const TokenizerOptions& options = {});

/// The tokenizer of a model that reads no tokens (weft/input.h): it has no symbols, and encode() is an Error.
std::shared_ptr<const Tokenizer> no_tokenizer();

/// Reads a tokenizer of any registered kind, or no_tokenizer(). Throws an Error unless Tokenizer::to_json() wrote the
/// JSON.
std::shared_ptr<const Tokenizer> tokenizer_from_json(const std::string& json);

}  // namespace weft
#pragma GCC visibility pop
