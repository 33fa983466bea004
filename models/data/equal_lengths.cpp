#include "data/equal_lengths.h"

#include <algorithm>
#include <numeric>

#include "weft/ops.h"

namespace weft::detail {

namespace {

// Returns the batch's tokens or, if it has none, its frames.
const Tensor& sequence_of(const Batch& batch) { return batch.tokens.defined() ? batch.tokens : batch.frames; }

bool is_per_token(const Batch& batch) {
  const Tensor& target = batch.target;
  return target.dtype() == DType::i64 && target.rank() == 2 && target.size(1) == sequence_of(batch).size(1);
}

std::int64_t predicted_of(const Tensor& target, bool per_token) {
  if (!per_token) return target.size(0);
  const auto all = target.to_vector<std::int64_t>();
  return std::count_if(all.begin(), all.end(), [](std::int64_t t) { return t != ignored_target; });
}

// Returns the rows from `first` to `end` - 1. Unless `length` is 0, each row has only its first `length` positions.
Tensor part(const Tensor& x, std::int64_t first, std::int64_t end, std::int64_t length) {
  if (!x.defined()) return x;
  const Tensor rows = slice(x, 0, first, end);
  return length == 0 ? rows : raw::contiguous(slice(rows, 1, 0, length));
}

}  // namespace

std::vector<Batch> equal_lengths(const Batch& batch) {
  const std::vector<std::int64_t>& lengths = batch.lengths;
  if (lengths.empty()) return {batch};
  const std::int64_t rows = sequence_of(batch).size(0), longest = sequence_of(batch).size(1);
  if (std::ssize(lengths) != rows || batch.target.rank() < 1 || batch.target.size(0) != rows || lengths.front() < 1 ||
      lengths.back() > longest || !std::is_sorted(lengths.begin(), lengths.end()))
    throw Error("[train] expected " + std::to_string(rows) + " rows, each with a label and 1 to " +
                std::to_string(longest) + " tokens, sorted by length");
  const bool per_token = is_per_token(batch);
  if (batch.predicted != predicted_of(batch.target, per_token))  // the mean is over all rows or tokens
    throw Error("[train] expected one prediction for each of " + std::to_string(predicted_of(batch.target, per_token)) +
                (per_token ? " tokens" : " rows") + ", got " + std::to_string(batch.predicted));
  if (lengths.front() == longest) return {batch};
  std::vector<Batch> pieces;
  for (std::int64_t first = 0; first < rows;) {
    const std::int64_t length = lengths[static_cast<std::size_t>(first)];
    const std::int64_t end = std::upper_bound(lengths.begin(), lengths.end(), length) - lengths.begin();
    Batch piece{part(batch.tokens, first, end, length), part(batch.target, first, end, per_token ? length : 0)};
    piece.predicted = predicted_of(piece.target, per_token);
    piece.frames = part(batch.frames, first, end, length);
    for (const auto& [name, tensor] : batch.more) piece.more.emplace(name, part(tensor, first, end, 0));
    if (piece.predicted > 0) pieces.push_back(std::move(piece));
    first = end;
  }
  return pieces;
}

std::int64_t token_count(const Batch& batch, const Model& model) {
  const Tensor& sequence = sequence_of(batch);
  if (const InputSpec input = model.input(); input.is_picture()) return sequence.size(0) * input.patches();
  if (batch.lengths.empty()) return sequence.size(0) * sequence.size(1);
  return std::accumulate(batch.lengths.begin(), batch.lengths.end(), std::int64_t{0});
}

}  // namespace weft::detail
