/// \file
/// Vocabulary: a list of symbols, each with an id. Tokenizers that know each of their symbols are built on it.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#pragma GCC visibility push(default)
namespace weft {

/// Symbols and their ids 0 … size()-1. Const calls may come from several threads.
class Vocabulary {
 public:
  Vocabulary() = default;  ///< empty
  /// Ids are in the order of the symbols. Throws an Error if a symbol occurs twice.
  static Vocabulary of_symbols(const std::vector<std::string>& symbols);

  std::int64_t size() const noexcept { return static_cast<std::int64_t>(symbols_.size()); }  ///< how many symbols
  std::optional<std::int64_t> find(const std::string& symbol) const;                         ///< its id, if it has one
  /// An Error if there is none.
  const std::string& symbol(std::int64_t id) const;
  const std::vector<std::string>& symbols() const noexcept { return symbols_; }  ///< in the order of ids

 private:
  std::vector<std::string> symbols_;
  std::unordered_map<std::string, std::int64_t> ids_;
};

}  // namespace weft
#pragma GCC visibility pop
