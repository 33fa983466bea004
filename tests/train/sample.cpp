// Tests which symbol is sampled from logits.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "weft/generate.h"
#include "weft/ops.h"

namespace weft::test {
namespace {

// Chooses by sorting all symbols.
std::int64_t sorted_choice(const std::vector<double>& x, double temperature, std::int64_t top_k, double u,
                           double top_p) {
  std::vector<std::int64_t> order(x.size());
  std::iota(order.begin(), order.end(), 0);
  const auto at = [&](std::int64_t i) { return x[static_cast<std::size_t>(i)]; };
  std::stable_sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) { return at(a) > at(b); });
  if (temperature == 0) return order.front();
  if (top_k > 0 && top_k < std::ssize(order)) order.resize(static_cast<std::size_t>(top_k));
  std::vector<double> sums;
  for (std::int64_t i : order)
    sums.push_back((sums.empty() ? 0 : sums.back()) + std::exp((at(i) - at(order.front())) / temperature));
  if (top_p < 1) {
    const auto enough = std::lower_bound(sums.begin(), sums.end(), top_p * sums.back()) - sums.begin();
    sums.resize(static_cast<std::size_t>(std::min(enough, std::ssize(sums) - 1)) + 1);
  }
  const auto chosen = std::upper_bound(sums.begin(), sums.end(), u * sums.back()) - sums.begin();
  return order[static_cast<std::size_t>(std::min(chosen, std::ssize(sums) - 1))];
}

TEST_CASE("sample: as if all symbols were sorted, with the first of equal logits first") {
  const Random random(6);
  std::uint64_t number = 0;
  const auto next = [&] { return random.uniform(number++); };
  for (const std::int64_t symbols : {1, 2, 7, 300})
    for (int turn = 0; turn < 60; ++turn) {
      const double step = turn % 3 == 0 ? 1 : 1e-6;  // many equal logits, or almost none
      std::vector<double> x;
      for (std::int64_t i = 0; i < symbols; ++i) x.push_back(std::floor(6 * next() / step) * step);
      const Tensor logits = Tensor::from<double>(x, {symbols});
      const double u = next();
      for (const std::int64_t top_k : {0, 1, 3, 299, 300, 1000})
        for (const double temperature : {0.0, 0.7})
          for (const double top_p : {1.0, 0.6})
            CHECK(sample(logits, temperature, top_k, u, top_p) == sorted_choice(x, temperature, top_k, u, top_p));
    }
}

TEST_CASE("sample: greedy, top-k, proportions") {
  const Tensor logits = Tensor::from<float>({0, std::log(2.0f), -INFINITY, std::log(5.0f)}, {4});
  CHECK_THROWS_AS((void)sample(logits, 1, 0, 0.5), Error);
  const Tensor x = Tensor::from<float>({0, std::log(2.0f), -100, std::log(5.0f)}, {4});
  CHECK(sample(x, 0, 0, 0.99) == 3);
  CHECK(sample(x, 1, 1, 0.99) == 3);
  // The parts 5/8, 2/8 and 1/8 of [0, 1), the most likely symbol first.
  CHECK(sample(x, 1, 0, 0.62) == 3);
  CHECK(sample(x, 1, 0, 0.63) == 1);
  CHECK(sample(x, 1, 0, 0.87) == 1);
  CHECK(sample(x, 1, 0, 0.88) == 0);
  CHECK(sample(x, 1, 2, 0.99) == 1);
  CHECK(sample(x, 1, 100, 0.9999999) == 0);
  // A temperature of 1/2 squares the odds: 25/30, 4/30, 1/30.
  CHECK(sample(x, 0.5, 0, 0.83) == 3);
  CHECK(sample(x, 0.5, 0, 0.84) == 1);
  CHECK(sample(x, 0.5, 0, 0.97) == 0);
  // A symbol's part of [0, 1) starts where the previous part ends.
  const Tensor even = Tensor::zeros({2});
  CHECK(sample(even, 1, 0, 0) == 0);
  CHECK(sample(even, 1, 0, std::nextafter(0.5, 0)) == 0);
  CHECK(sample(even, 1, 0, 0.5) == 1);
}

}  // namespace
}  // namespace weft::test
