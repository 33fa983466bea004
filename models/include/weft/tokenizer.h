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

#pragma GCC visibility push(default)
namespace weft {

/// Ids that stand for no text, as far as a tokenizer has them.
struct SpecialIds {
  std::optional<std::int64_t> unknown;  ///< any symbol that it doesn't have
  std::optional<std::int64_t> pad;      ///< fills sequences up
  std::optional<std::int64_t> cls;      ///< begins the sequence of a classifier
  std::optional<std::int64_t> mask;     ///< hides a symbol that is to be predicted
};

/// Texts and their ids 0 … size()-1. It never changes once it is made: threads may share it.
class Tokenizer {
 public:
  virtual ~Tokenizer() = default;

  virtual const char* kind() const noexcept = 0;    ///< "characters", "words", …
  virtual std::int64_t size() const noexcept = 0;   ///< symbols, special ones included
  virtual SpecialIds special() const noexcept = 0;  ///< those that it has
  /// The text's ids, in their order. Error, naming the byte offset, for invalid UTF-8, or for a symbol that it doesn't
  /// have if it has no id for unknown ones.
  virtual std::vector<std::int64_t> encode(std::string_view text) const = 0;
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
  Task task = Task::causal_lm;  ///< decides which special symbols it has
  std::int64_t size = 0;        ///< the most symbols; 0: any number
  std::int64_t min_count = 1;   ///< the fewest times that a symbol must occur
};

/// A way to cut texts into symbols.
struct TokenizerKind {
  std::string name;     ///< what Tokenizer::kind() gives
  std::string meaning;  ///< a line of text
  /// Finds the symbols in texts. Error for invalid UTF-8, naming the byte offset. Several threads may call it at once.
  std::function<std::shared_ptr<const Tokenizer>(const Texts&, const TokenizerOptions&)> learn;
  /// From what to_json() wrote. Error unless it did. Several threads may call it at once.
  std::function<std::shared_ptr<const Tokenizer>(const std::string& json)> from_json;
};

/// Adds one to weft's own, for the rest of the process. Error, with nothing added, if its name is taken, or if it has no
/// name or lacks a function. Any thread may call these functions at any time.
void register_tokenizer(TokenizerKind kind);
/// Error if there is none of that name. It stays where it is for the rest of the process.
const TokenizerKind& tokenizer_kind(const std::string& name);
std::vector<std::string> tokenizer_kinds();  ///< their names, weft's own first

/// A tokenizer of that kind for the texts.
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
