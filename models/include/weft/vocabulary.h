/// \file
/// Vocabulary: a list of symbols, each with an id; what tokenizers that know their symbols one by one are made of.
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
  /// Ids in the order of the symbols. Error if one comes twice.
  static Vocabulary of_symbols(const std::vector<std::string>& symbols);

  std::int64_t size() const noexcept { return static_cast<std::int64_t>(symbols_.size()); }  ///< how many symbols
  std::optional<std::int64_t> find(const std::string& symbol) const;                         ///< its id, if it has it
  const std::string& symbol(std::int64_t id) const;                                          ///< Error if there is none
  const std::vector<std::string>& symbols() const noexcept { return symbols_; }              ///< by their ids

 private:
  std::vector<std::string> symbols_;
  std::unordered_map<std::string, std::int64_t> ids_;
};

}  // namespace weft
#pragma GCC visibility pop
