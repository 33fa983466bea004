#include "base/sequence.h"

#include <algorithm>
#include <cmath>

namespace weft::detail {

Tensor sinusoidal_positions(std::int64_t length, std::int64_t d, DType dtype) {
  Tensor table = Tensor::empty({length, d}, DType::f64);
  double* p = table.mutable_data<double>();
  for (std::int64_t position = 0; position < length; ++position)
    for (std::int64_t i = 0; i < d; ++i) {
      const double exponent = static_cast<double>(i / 2 * 2) / static_cast<double>(d);
      const double angle = static_cast<double>(position) / std::pow(10000.0, exponent);
      p[position * d + i] = i % 2 == 0 ? std::sin(angle) : std::cos(angle);
    }
  return raw::convert(table, dtype);
}

Tensor SinusoidalPositions::operator()(std::int64_t first, std::int64_t n, DType dtype) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const std::int64_t rows = rows_.defined() && rows_.dtype() == dtype ? rows_.size(0) : 0;
  if (first + n > rows) rows_ = sinusoidal_positions(std::min(length_, std::max(first + n, 2 * rows)), d_, dtype);
  return slice(rows_, 0, first, first + n);
}

namespace {

// Returns the sum (b, d) of x (b, n, d) over n, weighted by shares (b, n). For each row, set_shares receives the places
// of the tokens that are not padding (0), or all places if `tokens` is undefined, and the n shares, which are 0.
template <class SetShares>
Tensor weighted_sum(const Tensor& x, const Tensor& tokens, const SetShares& set_shares) {
  const std::int64_t b = x.size(0), n = x.size(1);
  const auto ids = tokens.defined() ? tokens.to_vector<std::int64_t>()
                                    : std::vector<std::int64_t>(static_cast<std::size_t>(b * n), 1);
  std::vector<double> share(ids.size(), 0);
  for (std::int64_t row = 0; row < b; ++row) {
    std::vector<std::int64_t> places;
    for (std::int64_t i = 0; i < n; ++i)
      if (ids[static_cast<std::size_t>(row * n + i)] != 0) places.push_back(i);
    if (!places.empty()) set_shares(places, share.data() + row * n);
  }
  const Tensor wide = widened(x), shares = raw::convert(Tensor::from(share, {b, n}), wide.dtype());
  return in_dtype(einsum("bn,bnd->bd", {shares, wide}), x.dtype());
}

}  // namespace

Tensor mean_of_tokens(const Tensor& x, const Tensor& tokens) {
  return weighted_sum(x, tokens, [](const std::vector<std::int64_t>& places, double* shares) {
    for (const std::int64_t i : places) shares[i] = 1 / static_cast<double>(places.size());
  });
}

Tensor last_token(const Tensor& x, const Tensor& tokens) {
  return weighted_sum(x, tokens,
                      [](const std::vector<std::int64_t>& places, double* shares) { shares[places.back()] = 1; });
}

std::vector<std::uint64_t> versions_of(const NamedParameters& parameters) {
  std::vector<std::uint64_t> versions;
  for (const auto& [name, parameter] : parameters) versions.push_back(parameter.value().version());
  return versions;
}

}  // namespace weft::detail
