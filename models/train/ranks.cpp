#include "weft/ranks.h"

#include <algorithm>

namespace weft {
namespace {

constexpr char fine = '+', failed = '-';
constexpr std::size_t short_text = 200;  // of a fact that is shown

std::string rank_name(std::size_t rank) { return "rank " + std::to_string(rank); }

// Error of the first rank that failed. What all ranks say alike, rank 0 says.
void check_all(const std::vector<std::string>& texts) {
  for (std::size_t rank = 0; rank < texts.size(); ++rank)
    if (texts[rank].empty() || texts[rank][0] == failed)
      throw RankError((rank == 0 ? "" : rank_name(rank) + ": ") + texts[rank].substr(texts[rank].empty() ? 0 : 1));
}

}  // namespace

std::vector<std::string> Ranks::gather(const std::string& text) {
  std::vector<std::string> texts = exchange(fine + text);
  check_all(texts);
  for (std::string& each : texts) each.erase(0, 1);
  return texts;
}

void Ranks::fail(const std::string& what) {
  check_all(exchange(failed + what));
  throw RankError(what);
}

void check_alike(Ranks& ranks, const std::vector<std::pair<std::string, std::string>>& facts) {
  std::vector<std::vector<std::string>> values;  // of each fact, by rank
  for (const auto& fact : facts) values.push_back(ranks.gather(fact.second));
  for (std::size_t i = 0; i < facts.size(); ++i) {
    const auto differs =
        std::find_if(values[i].begin(), values[i].end(), [&](const auto& v) { return v != values[i][0]; });
    if (differs == values[i].end()) continue;
    const std::string rank = rank_name(static_cast<std::size_t>(differs - values[i].begin()));
    const bool shown = differs->size() + values[i][0].size() <= short_text;
    throw RankError("[ranks] not the same " + facts[i].first + " on " + rank + " as on rank 0" +
                    (shown ? ": " + *differs + ", not " + values[i][0] : ""));
  }
}

}  // namespace weft
