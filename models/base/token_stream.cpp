#include "base/token_stream.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "weft/error.h"
#include "weft/ops.h"

namespace weft::detail {

void SteadyModel::check() {
  std::vector<std::uint64_t> now = versions_of(parameters_);
  if (versions_.empty()) {
    versions_ = std::move(now);
    precision_ = model_->precision();
  } else if (now != versions_) {
    throw Error(
        "[generate] a parameter was written after this text's first token, so the kept results of earlier tokens are "
        "no longer valid: make a new stream");
  } else if (model_->precision() != precision_) {
    throw Error(std::string("[generate] the model's precision is now ") + precision_name(model_->precision()) +
                ", but it was " + precision_name(precision_) + " at this text's first token: make a new stream");
  }
}

// Provides memory for the rows from `at` to `end` - 1. The rows before `at` keep their contents.
void TokenRows::make_room(std::int64_t at, std::int64_t end, std::int64_t d, DType dtype) {
  const std::int64_t capacity = rows_.defined() ? rows_.size(0) : 0;
  if (end <= capacity && rows_.unique()) return;
  const std::int64_t room = end > capacity ? std::max({std::int64_t{64}, end, 2 * capacity}) : capacity;
  Tensor own = Tensor::empty({room, d}, dtype);
  Tensor kept = slice(own, 0, 0, at);
  if (at > 0) raw::copy(first(at), kept);
  rows_ = std::move(own);
}

void TokenRows::put(std::int64_t at, const Tensor& rows) {
  const std::int64_t end = at + rows.size(0);
  make_room(at, end, rows.size(1), rows.dtype());
  Tensor place = slice(rows_, 0, at, end);
  raw::copy(rows, place);
}

void TokenRows::put_row(std::int64_t at, const Tensor& x, std::int64_t row) {
  make_room(at, at + 1, x.size(-1), x.dtype());
  const std::size_t bytes = static_cast<std::size_t>(x.size(-1)) * dtype_size(x.dtype());
  std::memcpy(static_cast<char*>(rows_.mutable_raw()) + static_cast<std::size_t>(at) * bytes,
              static_cast<const char*>(x.raw()) + static_cast<std::size_t>(row) * bytes, bytes);
}

void check_appended(const Tensor& tokens, std::int64_t texts) {
  if (!tokens.defined() || tokens.dtype() != DType::i64 || tokens.rank() != 2 || tokens.size(0) != texts ||
      tokens.size(1) < 1)
    throw Error("[generate] expected tokens i64 (" + std::to_string(texts) + ", n >= 1), got " +
                (tokens.defined() ? std::string(dtype_name(tokens.dtype())) + " " + to_string(tokens.shape())
                                  : "an undefined tensor"));
}

void check_appended_each(const Tensor& tokens, std::int64_t texts, std::int64_t most) {
  if (texts != 1) throw Error("[generate] expected a stream of one text, got " + std::to_string(texts));
  check_appended(tokens, texts);
  if (tokens.size(1) > most)
    throw Error("[generate] expected at most " + std::to_string(most) + " tokens, got " +
                std::to_string(tokens.size(1)));
}

void check_taken_back(std::int64_t count, std::int64_t most) {
  if (count < 0 || count > most)
    throw Error("[generate] expected to take back 0 to " + std::to_string(most) + " tokens, got " +
                std::to_string(count));
}

void check_selected(const std::vector<std::int64_t>& indices, std::int64_t texts) {
  if (indices.empty()) throw Error("[generate] expected at least one text index, got none");
  for (std::int64_t i : indices)
    if (i < 0 || i >= texts)
      throw Error("[generate] expected text indices from 0 to " + std::to_string(texts - 1) + ", got " +
                  std::to_string(i));
}

}  // namespace weft::detail
