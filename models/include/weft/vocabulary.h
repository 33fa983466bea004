/// \file
/// Vocabulary: a list of symbols, each with an id. Tokenizers with a fixed list of symbols use this class.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "weft/visibility.h"

WEFT_PUBLIC_BEGIN
namespace weft {

/// Symbols and their ids 0 … size()-1. Several threads may make const calls at the same time.
class Vocabulary {
 public:
  Vocabulary() = default;  ///< an empty vocabulary
  /// Numbers the symbols in the given order. Throws an Error if a symbol occurs twice.
  static Vocabulary of_symbols(const std::vector<std::string>& symbols);

  std::int64_t size() const noexcept { return static_cast<std::int64_t>(symbols_.size()); }  ///< number of symbols
  std::optional<std::int64_t> find(const std::string& symbol) const;  ///< the id of a symbol; none if it is unknown
  /// Returns the symbol of an id. Throws an Error if there is no such id.
  const std::string& symbol(std::int64_t id) const;
  /// All symbols in the order of their ids.
  const std::vector<std::string>& symbols() const noexcept { return symbols_; }

 private:
  std::vector<std::string> symbols_;
  std::unordered_map<std::string, std::int64_t> ids_;
};

}  // namespace weft
WEFT_PUBLIC_END
