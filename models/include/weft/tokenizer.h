/// \file
/// Tokenizers: how a text becomes the ids that a model reads, and back. One is saved with each checkpoint. A host program
/// may add kinds of its own; then checkpoints and all that works on them know them by their name.
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

/// Ids that stand for no text, as far as a tokenizer has them.
struct SpecialIds {
  std::optional<std::int64_t> unknown = {};  ///< any symbol that it doesn't have
  std::optional<std::int64_t> pad = {};      ///< fills sequences up
  std::optional<std::int64_t> cls = {};      ///< begins the sequence of a classifier
  std::optional<std::int64_t> mask = {};     ///< hides a symbol that is to be predicted
  /// Ends each text of a sequence: with it rows, and what fill_mask asks, are [cls] text [sep]. Windows of a long text aren't.
  std::optional<std::int64_t> sep = {};

  /// Whether the id is one of them.
  bool has(std::int64_t id) const noexcept {
    return id == unknown || id == pad || id == cls || id == mask || id == sep;
  }
};

/// Where a text is from, for messages.
struct TextPlace {
  std::string name = {};     ///< a file's, in quotation marks, say; empty if it has none
  std::uint64_t offset = 0;  ///< bytes of it that come before the text
};

/// Error, naming the first byte that isn't UTF-8.
void check_utf8(std::string_view text, const TextPlace& place);

/// Texts and their ids 0 … size()-1. It never changes once it is made: threads may share it.
class Tokenizer {
 public:
  virtual ~Tokenizer() = default;

  virtual const char* kind() const noexcept = 0;    ///< "characters", "words", …
  virtual std::int64_t size() const noexcept = 0;   ///< symbols, special ones included
  virtual SpecialIds special() const noexcept = 0;  ///< those that it has
  /// The text's ids, in their order. Error, naming the place, for invalid UTF-8 (unless it takes any bytes), or for a
  /// symbol that it doesn't have if it has no id for unknown ones.
  virtual std::vector<std::int64_t> encode(std::string_view text, const TextPlace& place) const = 0;
  /// The same for a text from nowhere.
  std::vector<std::int64_t> encode(std::string_view text) const { return encode(text, TextPlace{}); }
  /// Whether encode() takes what is not UTF-8, too.
  virtual bool takes_any_bytes() const noexcept;
  /// So that a long text can be encoded piece by piece: the longest beginning of a text whose ids, followed by those of
  /// the rest, are the ids of the whole, whatever follows the text; in bytes. 0 if there is none, as always if a
  /// tokenizer doesn't say.
  virtual std::size_t cut(std::string_view text) const;
  /// The text of one id; special ones have names like "[mask]". Error if there is none.
  virtual std::string decode(std::int64_t id) const = 0;
  /// What stands between the texts of two ids that follow one another.
  virtual std::string separator(std::int64_t before, std::int64_t id) const;
  /// The text of ids that follow one another.
  std::string decode(const std::vector<std::int64_t>& ids) const;
  /// All of it: a JSON object with the kind as "unit".
  virtual std::string to_json() const = 0;
};

/// Whether both are of one kind and give the same ids to the same texts.
bool operator==(const Tokenizer& a, const Tokenizer& b);
bool operator!=(const Tokenizer& a, const Tokenizer& b);  ///< the opposite of ==

/// Texts to learn from, one after the other: calls its argument with each, whenever it is called with the same ones.
using Texts = std::function<void(const std::function<void(std::string_view)>&)>;

/// What a tokenizer is made for.
struct TokenizerOptions {
  std::optional<Task> task = {};  ///< decides which special symbols it has; none: all, so that it serves every task
  std::int64_t size = 0;          ///< the most symbols; 0: any number (bpe, unigram: 8000)
  std::int64_t min_count = 1;     ///< the fewest times that a word must occur
};

/// A way to cut texts into symbols.
struct TokenizerKind {
  std::string name;     ///< what Tokenizer::kind() gives
  std::string meaning;  ///< a line of text
  /// Finds the symbols in texts. Error for invalid UTF-8, naming the byte offset. Several threads may call it at once.
  std::function<std::shared_ptr<const Tokenizer>(const Texts&, const TokenizerOptions&)> learn;
  /// From what to_json() wrote. Error unless it did. Several threads may call it at once.
  std::function<std::shared_ptr<const Tokenizer>(const std::string& json)> from_json;
  std::int64_t usual_size = 0;  ///< TokenizerOptions::size that programs offer; 0: any number
  bool has_size = true;         ///< whether learn heeds TokenizerOptions::size
  bool has_min_count = false;   ///< and TokenizerOptions::min_count
  bool is_learned = true;       ///< whether learn gives one; false: it always is an Error, such are read from files
};

/// A text's ids as a model takes them: (1, n) i64, as encode() gives them. Error if there are none.
Tensor encode_tensor(const Tokenizer& tokenizer, std::string_view text);
/// Texts as rows of a classifier, (b, n) i64: each is [cls], its ids and [sep], as far as the tokenizer has the two, cut to
/// at most `longest` tokens (0: any number), and filled up with padding to the longest row, or to `pad_to`, which then is at
/// most `longest`, too. Error if there is no text, if rows differ in length and the tokenizer has no padding, or for a row of
/// no token.
Tensor encode_rows(const Tokenizer& tokenizer, const std::vector<std::string>& texts, std::int64_t longest = 0,
                   std::int64_t pad_to = 0);

/// Adds one to weft's own, for the rest of the process. Error, with nothing added, if its name is taken, or if it has no
/// name or lacks a function. Any thread may call these functions at any time.
void register_tokenizer(TokenizerKind kind);
/// Error if there is none of that name. It stays where it is for the rest of the process.
const TokenizerKind& tokenizer_kind(const std::string& name);
std::vector<std::string> tokenizer_kinds();  ///< their names, weft's own first

/// A tokenizer of that kind for the texts. Error, as from all functions here that make one, if memory runs out.
std::shared_ptr<const Tokenizer> learn_tokenizer(const std::string& kind, const Texts& texts,
                                                 const TokenizerOptions& options = {});
/// The same for one text.
std::shared_ptr<const Tokenizer> learn_tokenizer(const std::string& kind, const std::string& text,
                                                 const TokenizerOptions& options = {});
/// The same for several.
std::shared_ptr<const Tokenizer> learn_tokenizer(const std::string& kind, const std::vector<std::string>& texts,
                                                 const TokenizerOptions& options = {});

/// Of any kind that is registered by then. Error unless Tokenizer::to_json() wrote it.
std::shared_ptr<const Tokenizer> tokenizer_from_json(const std::string& json);

}  // namespace weft
#pragma GCC visibility pop
