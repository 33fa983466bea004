#include "streaming/online_toeplitz.h"

#include <algorithm>

#include "weft/detail/lagged_products.h"
#include "weft/ops.h"

namespace weft::detail {
namespace {

using std::int64_t;

constexpr int64_t base = BlockedRows::block;

// The number of the first block in which a level takes part. Larger: the last level has more products. Smaller: more
// lags and rows must be computed in advance, and the last level's pieces are larger.
constexpr int64_t first_of_level = 6;

// The number of elements (rows times channels) in one piece of a level's work, and the minimum and maximum number of
// channels. The minimum fills the vector registers, and makes a piece large enough to be worth a call.
constexpr int64_t piece_elements = int64_t{1} << 18, least_channels = 16, most_channels = 64;

// The single product over all rows in whole() costs about 1/64 of the time for appending all these rows one by one.
// append() therefore calls whole() if it receives more than 1/64 of all rows.
constexpr int64_t rows_of_pass = 64;

int64_t size_of(std::size_t level) { return base << level; }

int64_t channels_of_piece(std::size_t level) {
  return std::clamp(piece_elements / size_of(level), least_channels, most_channels);
}

int64_t pieces_of(std::size_t level, int64_t channels) {
  return (channels + channels_of_piece(level) - 1) / channels_of_piece(level);
}

// Returns a view (1, 1, n, channels) of x (n, channels).
Tensor one_head(const Tensor& x) { return reshape(x, {1, 1, x.size(0), x.size(1)}); }

}  // namespace

// The comment on the class explains the numbers. Besides, there are up to 128 lags and 256 rows of products at the
// beginning. ToeplitzLags keeps the coefficients and the spectra of small products, which take 4 S rows for each size S
// of 64, 128 and 256 at the distances 2 and 3, if 2 S <= n and S < L. The last factor is the unused part of memory
// blocks.
double OnlineToeplitz::bytes(int64_t n, int64_t significant, int64_t channels, std::size_t element) noexcept {
  const auto rows = static_cast<double>(n), lags = static_cast<double>(significant);
  const double inputs = std::min(rows, 3 * lags) + base, products = std::min(0.8 * rows, 4 * lags) + 256;
  const double coefficients = std::min(1.4 * rows + 128, lags + base),
               spectra = std::min({8 * rows, 16 * lags, 4.0 * 448 * 2});
  return (inputs + products + coefficients + spectra) * static_cast<double>(channels) * static_cast<double>(element) *
         9 / 8;
}

Tensor OnlineToeplitz::append(int64_t at, const Tensor& v) {
  const int64_t n = v.size(0), significant = lags_->significant(), largest = std::max(base, at / (first_of_level - 1));
  rows_.drop(at - std::min(at, significant) - 2 * std::min(largest, std::max(base, significant)));
  if (n > 1 && n * rows_of_pass > at + n) return whole(at, v);
  Tensor y = Tensor::zeros(v.shape(), v.dtype());
  for (int64_t i = 0; i < n; ++i) {
    prepare(at + i);
    rows_.put(at + i, slice(v, 0, i, i + 1));
    with_element(v.dtype(), [&]<class T>(T) {
      T* row = y.mutable_data<T>() + i * v.size(1);
      add_recent(at + i, row);
      add_products(at + i, row);
    });
  }
  return y;
}

// Computes the n new rows as the last rows of one product over all rows with significant lags. Discards the products
// that were computed in advance, because they may belong to other rows.
Tensor OnlineToeplitz::whole(int64_t at, const Tensor& v) {
  levels_.clear();
  const int64_t n = v.size(0), d = v.size(1), end = at + n, first = at - std::min(at, lags_->significant() - 1);
  rows_.put(at, v);
  lags_->reach(end - first);
  Tensor y = Tensor::empty(v.shape(), v.dtype());
  constexpr int64_t most = 4 * most_channels;
  for (int64_t c = 0; c < d; c += most) {
    const int64_t channels = std::min(most, d - c);
    const Tensor x = one_head(rows_.read(first, end - first, c, channels));
    const Tensor t = reshape(lags_->rows().read(0, end - first, c, channels), {1, end - first, channels});
    Tensor to = slice(y, 1, c, c + channels);
    raw::copy(reshape(slice(toeplitz_product(x, t, true), 2, at - first, end - first), {n, channels}), to);
  }
  return y;
}

// Whether the level takes part in this block. It does if there are enough blocks before this one and the level has
// significant lags.
bool OnlineToeplitz::begun(std::size_t level, int64_t block) const {
  return level == 0 || (block >= first_of_level && size_of(level) + 1 < lags_->significant());
}

// Returns the number of source blocks from which a block gets products of this level. The nearest source is 2 blocks
// away.
int64_t OnlineToeplitz::sources(std::size_t level, int64_t block) const {
  if (!begun(level, block)) return 0;
  const int64_t farthest = begun(level + 1, block / 2) ? 2 + block % 2 : block;
  // The largest distance in blocks that has significant lags. The smallest lag of a distance is (distance - 1) · S + 1.
  const int64_t last = (lags_->significant() - 2) / size_of(level) + 1;
  return block < 2 ? 0 : std::max<int64_t>(0, std::min(farthest, last) - 1);
}

void OnlineToeplitz::prepare(int64_t n) {
  // An upper bound on the block sizes of the levels that have begun or that begin next.
  const int64_t largest = std::max(base, n / (first_of_level - 1));
  lags_->reach(n + 2 * largest + static_cast<int64_t>(phase_ * base));
  std::size_t level = 0;
  for (; n > 0 && (level == 0 || begun(level, n / size_of(level) + 1)); ++level) {
    if (levels_.size() == level) levels_.emplace_back();
    prepare(level, n);
  }
  levels_.resize(level);
}

void OnlineToeplitz::prepare(std::size_t level, int64_t n) {
  const int64_t size = size_of(level), block = n / size, pieces = pieces_of(level, rows_.channels());
  Level& of = levels_[level];
  if (of.now.block != block) {
    if (of.next.block != block) of.next = {block, 0, {}};
    multiply(of.next, level, pieces * sources(level, block));
    of.now = std::move(of.next);
    of.next = {};
  }
  if (of.next.block != block + 1) of.next = {block + 1, 0, {}};
  const auto part = (static_cast<double>(n % size)) / static_cast<double>(size);
  const int64_t all = pieces * sources(level, block + 1);
  multiply(of.next, level, std::min(all, static_cast<int64_t>(part * static_cast<double>(all) + phase_)));
}

// Computes further products until `until` of them are done. The order is: all sources for the first group of channels,
// then all sources for the next group.
void OnlineToeplitz::multiply(Products& products, std::size_t level, int64_t until) const {
  const int64_t size = size_of(level), width = channels_of_piece(level), count = sources(level, products.block);
  for (; products.done < until; ++products.done) {
    const int64_t distance = 2 + products.done % count, channel = products.done / count * width;
    const int64_t channels = std::min(width, rows_.channels() - channel);
    const Tensor x = one_head(rows_.read((products.block - distance) * size, size, channel, channels));
    const Tensor y = reshape(toeplitz_product(x, lags_->between(size, distance, channel, channels)), {size, channels});
    if (distance == 2) products.sums.push_back(y);
    else products.sums.back() = add(products.sums.back(), y);
  }
}

// Adds row i of the products to y.
template <class T>
void OnlineToeplitz::add_products(int64_t i, T* y) const {
  for (std::size_t level = 0; level < levels_.size(); ++level) {
    T* to = y;
    for (const Tensor& sum : levels_[level].now.sums) {
      const int64_t channels = sum.size(1);
      const T* from = sum.data<T>() + i % size_of(level) * channels;
      for (int64_t c = 0; c < channels; ++c) *to++ += from[c];
    }
  }
}

// y += Σ t_(i-j) v_j over the rows j <= i of level 0's current block and of the block before it.
template <class T>
void OnlineToeplitz::add_recent(int64_t i, T* y) const {
  const int64_t d = rows_.channels();
  const int64_t first = std::max<int64_t>((i / base - 1) * base, std::max<int64_t>(0, i + 1 - lags_->rows().size()));
  for (int64_t j = first, count = 0; j <= i; j += count) {
    // As many rows as follow each other in memory, both of v and, in the other direction, of t.
    count = std::min({i + 1 - j, base - j % base, (i - j) % base + 1});
    add_lagged_products(count, d, lags_->rows().row<T>(i - j), rows_.row<T>(j), y);
  }
}

}  // namespace weft::detail
