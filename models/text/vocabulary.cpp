#include "weft/vocabulary.h"

#include "weft/error.h"

namespace weft {

Vocabulary Vocabulary::of_symbols(const std::vector<std::string>& symbols) {
  Vocabulary vocabulary;
  for (const std::string& symbol : symbols) {
    if (!vocabulary.ids_.emplace(symbol, vocabulary.size()).second)
      throw Error("[vocabulary] symbol \"" + symbol + "\" occurs twice");
    vocabulary.symbols_.push_back(symbol);
  }
  return vocabulary;
}

std::optional<std::int64_t> Vocabulary::find(const std::string& symbol) const {
  const auto found = ids_.find(symbol);
  if (found == ids_.end()) return std::nullopt;
  return found->second;
}

const std::string& Vocabulary::symbol(std::int64_t id) const {
  if (id < 0 || id >= size())
    throw Error("[vocabulary] expected a symbol below " + std::to_string(size()) + ", got " + std::to_string(id));
  return symbols_[static_cast<std::size_t>(id)];
}

}  // namespace weft
