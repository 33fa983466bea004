#include <algorithm>

#include "report/predictions.h"

namespace report {
namespace {

constexpr std::int64_t most_nearest = 100;

// Returns the lower median of the ranks.
std::int64_t median_rank(const std::vector<weft::RetrievalRank>& ranks) {
  std::vector<std::int64_t> sorted;
  for (const weft::RetrievalRank& rank : ranks) sorted.push_back(rank.nearer + 1);
  const auto middle = sorted.begin() + (std::ssize(sorted) - 1) / 2;
  std::nth_element(sorted.begin(), middle, sorted.end());
  return *middle;
}

}  // namespace

// In a random order, each rank of a text's own label from 1 to others + 1 has the same probability. So the own label is
// among the first k labels with the probability min(1, k / (others + 1)).
Json retrieval(const std::vector<weft::RetrievalRank>& ranks) {
  const auto count = static_cast<double>(ranks.size());
  Json figure{{"kind", "retrieval"}, {"rows", ranks.size()}, {"median_rank", median_rank(ranks)}};
  figure["recall"] = figure["chance"] = Json::array();
  for (std::int64_t k = 1; k <= std::min<std::int64_t>(most_nearest, std::ssize(ranks)); ++k) {
    double found = 0, chance = 0;
    for (const weft::RetrievalRank& rank : ranks) {
      found += rank.nearer < k;
      chance += std::min(1.0, static_cast<double>(k) / static_cast<double>(rank.others + 1));
    }
    figure["recall"].push_back(number(found / count));
    figure["chance"].push_back(number(chance / count));
  }
  return figure;
}

}  // namespace report
