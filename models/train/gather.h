// Combines values that are distributed over the ranks: rank r has the values r, r + size, ….
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "weft/ranks.h"

namespace weft::detail {

// Returns all `count` values on every rank. If `ranks` is null, this process already has them all.
template <class T>
std::vector<T> gathered(Ranks* ranks, const std::vector<T>& own, std::int64_t count) {
  if (ranks == nullptr) return own;
  std::vector<T> all(static_cast<std::size_t>(count));
  const std::vector<std::string> texts = ranks->gather(bytes_of(own));
  for (std::size_t rank = 0; rank < texts.size(); ++rank) {
    const std::size_t theirs = rank < all.size() ? (all.size() - rank - 1) / texts.size() + 1 : 0;
    const std::vector<T> values = values_of<T>(texts[rank], theirs);
    for (std::size_t j = 0; j < theirs; ++j) all[rank + j * texts.size()] = values[j];
  }
  return all;
}

// Whether `own` is true on any rank.
inline bool on_any(Ranks* ranks, bool own) {
  if (ranks == nullptr) return own;
  for (const std::string& text : ranks->gather(own ? "1" : ""))
    if (!text.empty()) return true;
  return false;
}

}  // namespace weft::detail
