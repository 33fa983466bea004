#include "streaming/toeplitz_lags.h"

#include <algorithm>

#include "weft/context.h"
#include "weft/ops.h"

namespace weft::detail {
namespace {

// Spectra are kept for products with at most this many rows and at most this distance in blocks. Larger distances do
// not occur once larger levels have begun. Small products occur at nearly every token. In larger products, computing
// the spectra takes a third of the time, but keeping them would take most of the memory.
constexpr std::int64_t kept_size = 256, kept_distance = 3;

template <class T>
void add_row(const T* row, std::vector<double>& sum) {
  for (std::size_t c = 0; c < sum.size(); ++c) sum[c] += static_cast<double>(row[c]);
}

}  // namespace

void ToeplitzLags::record_isa() {
  const Isa now = Context::current().isa();
  computed_.is_mixed = computed_.is_mixed || computed_.isa.value_or(now) != now;
  computed_.isa = now;
}

std::int64_t ToeplitzLags::significant() {
  if (computed_.significant < 0) {
    record_isa();
    computed_.significant = find_significant_();
  }
  return computed_.significant;
}

void ToeplitzLags::reach(std::int64_t count) {
  BlockedRows& rows = computed_.rows;
  count = std::min(count, significant());
  if (rows.size() < count) record_isa();
  while (rows.size() < count) rows.put(rows.size(), make_(rows.size(), rows.size() + BlockedRows::block));
}

const ToeplitzCoefficients& ToeplitzLags::between(std::int64_t size, std::int64_t distance, std::int64_t channel,
                                                  std::int64_t channels) {
  const Key key{size, distance, channel};
  const bool is_small = size <= kept_size && distance <= kept_distance;
  std::map<Key, ToeplitzCoefficients>& kept = is_small ? computed_.small : latest_;
  if (const auto found = kept.find(key); found != kept.end()) return found->second;
  record_isa();
  const Tensor t = computed_.rows.read((distance - 1) * size + 1, 2 * size - 1, channel, channels);
  ToeplitzCoefficients made(reshape(t, {1, 2 * size - 1, channels}), false);
  if (!is_small) latest_.clear();
  return kept.emplace(key, std::move(made)).first->second;
}

// The sums are computed in f64, because an f32 sum of so many values would be less accurate than the products that are
// divided by it.
Tensor ToeplitzLags::sums(std::int64_t at, std::int64_t n) {
  constexpr std::int64_t block = BlockedRows::block;
  const std::int64_t lags = std::min(at + n, significant()), first = std::min(at, lags) / block;
  Tensor out = Tensor::empty({n, computed_.rows.channels()}, computed_.rows.dtype());
  std::vector<std::vector<double>>& sums = computed_.sums;
  with_element(out.dtype(), [&]<class T>(T) {
    if (sums.empty()) sums.emplace_back(static_cast<std::size_t>(computed_.rows.channels()));
    while (std::ssize(sums) <= first) {
      std::vector<double> sum = sums.back();
      for (std::int64_t k = (std::ssize(sums) - 1) * block, end = k + block; k < end; ++k)
        add_row(computed_.rows.row<T>(k), sum);
      sums.push_back(std::move(sum));
    }
    std::vector<double> sum = sums[static_cast<std::size_t>(first)];
    T* to = out.mutable_data<T>();
    const auto write = [&] {
      to = std::transform(sum.begin(), sum.end(), to, [](double x) { return static_cast<T>(x); });
    };
    for (std::int64_t k = first * block; k < lags; ++k) {
      add_row(computed_.rows.row<T>(k), sum);
      if (k >= at) write();
    }
    for (std::int64_t k = std::max(lags, at); k < at + n; ++k) write();
  });
  return out;
}

}  // namespace weft::detail
