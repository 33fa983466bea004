#include "data/equal_lengths.h"

#include <algorithm>
#include <numeric>

#include "weft/ops.h"

namespace weft::detail {

std::vector<Batch> equal_lengths(const Batch& batch) {
  const std::vector<std::int64_t>& lengths = batch.lengths;
  const std::int64_t rows = batch.tokens.size(0), longest = batch.tokens.size(1);
  if (lengths.empty()) return {batch};
  if (std::ssize(lengths) != rows || batch.target.rank() != 1 || lengths.front() < 1 || lengths.back() > longest ||
      !std::is_sorted(lengths.begin(), lengths.end()))
    throw Error("[train] expected the lengths of " + std::to_string(rows) + " rows of 1 to " + std::to_string(longest) +
                " tokens with a label each, short ones first");
  if (batch.predicted != rows)  // each row is a part of the mean
    throw Error("[train] expected one prediction for each of " + std::to_string(rows) + " rows, got " +
                std::to_string(batch.predicted));
  if (lengths.front() == longest) return {batch};
  std::vector<Batch> pieces;
  for (std::int64_t first = 0; first < rows;) {
    const std::int64_t length = lengths[static_cast<std::size_t>(first)];
    const std::int64_t end = std::upper_bound(lengths.begin(), lengths.end(), length) - lengths.begin();
    pieces.push_back({raw::contiguous(slice(slice(batch.tokens, 0, first, end), 1, 0, length)),
                      slice(batch.target, 0, first, end), end - first});
    first = end;
  }
  return pieces;
}

std::int64_t token_count(const Batch& batch) {
  if (batch.lengths.empty()) return batch.tokens.numel();
  return std::accumulate(batch.lengths.begin(), batch.lengths.end(), std::int64_t{0});
}

}  // namespace weft::detail
