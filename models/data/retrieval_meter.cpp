#include "weft/retrieval_meter.h"

#include <algorithm>
#include <map>

#include "weft/context.h"
#include "weft/ops.h"
#include "weft/pair_data.h"

namespace weft {

void RetrievalMeter::add(const Tensor& output, const Batch& batch) {
  const NoGrad suspended;
  const Tensor vectors = normalized(output);
  const std::int64_t pairs = vectors.size(0) / 2;
  texts_.push_back(raw::contiguous(slice(vectors, 0, 0, pairs)));
  labels_.push_back(raw::contiguous(slice(vectors, 0, pairs, 2 * pairs)));
  const auto tokens = batch.tokens.to_vector<std::int64_t>();
  const std::int64_t length = batch.tokens.size(1);
  for (std::int64_t row = pairs; row < 2 * pairs; ++row)
    tokens_.emplace_back(tokens.begin() + row * length, tokens.begin() + (row + 1) * length);
}

// A label at the distance NaN counts as nearer, too, so that a model whose vectors are NaN has no hits.
std::vector<RetrievalRank> RetrievalMeter::ranks() const {
  if (texts_.empty()) return {};
  const NoGrad suspended;
  std::map<std::vector<std::int64_t>, std::int64_t> equal;  // how many rows have a label with these tokens
  for (const auto& tokens : tokens_) ++equal[tokens];
  const Tensor labels = concat(labels_, 0);
  const std::int64_t all = labels.size(0);
  std::vector<RetrievalRank> ranks;
  for (const Tensor& texts : texts_) {
    const auto similarity = raw::convert(linear(texts, labels), DType::f64).to_vector<double>();  // (rows, all)
    for (std::int64_t row = 0; row < texts.size(0); ++row) {
      const auto begin = similarity.begin() + row * all;
      const double own = begin[std::ssize(ranks)];
      const auto& own_tokens = tokens_[ranks.size()];
      std::int64_t nearer = 0;
      for (std::int64_t k = 0; k < all; ++k)
        nearer += !(begin[k] < own) && tokens_[static_cast<std::size_t>(k)] != own_tokens;
      ranks.push_back({nearer, all - equal.at(own_tokens)});
    }
  }
  return ranks;
}

std::vector<Metric> RetrievalMeter::metrics() const {
  const std::vector<RetrievalRank> all = ranks();
  const auto recall = [&all](std::int64_t k) {
    const auto near = std::count_if(all.begin(), all.end(), [k](const RetrievalRank& rank) { return rank.nearer < k; });
    return all.empty() ? 0 : static_cast<double>(near) / static_cast<double>(all.size());
  };
  return {{"recall@1", recall(1)}, {"recall@10", recall(10)}};
}

}  // namespace weft
