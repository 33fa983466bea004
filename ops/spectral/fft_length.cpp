#include "spectral/fft_length.h"

namespace weft::detail {
namespace {

// The modeled time of a pass for each element of a vector of columns, roughly in nanoseconds. Large radices need fewer
// passes but more arithmetic, especially odd ones. These costs determine the lengths to which products are padded, and
// when Toeplitz products use transforms.
// bench: weft-bench --benchmark_filter='c2c/64x|c2c-columns', whose lengths differ in their radices
double radix_cost(std::int64_t radix) {
  switch (radix) {
    case 2: return 1.0;
    case 3: return 1.2;
    case 4: return 1.2;
    case 5: return 1.7;
    case 7: return 2.4;
    case 8: return 1.7;
    case 11: return 4.0;
    case 16: return 2.3;
    default: return 5.0;
  }
}

}  // namespace

bool is_smooth(std::int64_t n) {
  n >>= __builtin_ctzll(static_cast<unsigned long long>(n));
  for (std::int64_t p : {3, 5, 7, 11, 13})
    while (n % p == 0) n /= p;
  return n == 1;
}

// The largest radix is last. The last passes stay in L1, so arithmetic limits their speed, and radix 16 needs the least
// arithmetic.
std::vector<std::int64_t> fft_radices(std::int64_t n) {
  std::vector<std::int64_t> radices;
  if (n == 1) return {1};
  for (std::int64_t p : {13, 11, 7, 5, 3})
    for (; n % p == 0; n /= p) radices.push_back(p);
  int twos = 0;
  for (; n % 2 == 0; n /= 2) ++twos;
  if (n != 1) return {};
  for (; twos > 8; twos -= 3) radices.push_back(8);
  static const std::vector<std::int64_t> last[9] = {{}, {2}, {4}, {8}, {16}, {4, 8}, {8, 8}, {8, 16}, {16, 16}};
  radices.insert(radices.end(), last[twos].begin(), last[twos].end());
  return radices;
}

double fft_cost(std::int64_t n) {
  if (n == 1) return 0;
  const std::vector<std::int64_t> radices = fft_radices(n);
  if (radices.empty()) {
    const std::int64_t m = fft_fast_length(2 * n - 1);
    return 2 * fft_cost(m) + static_cast<double>(m + 2 * n);
  }
  double cost = 0;
  for (std::int64_t radix : radices) cost += radix_cost(radix) * static_cast<double>(n);
  return cost;
}

std::int64_t fft_fast_length(std::int64_t n) {
  std::int64_t best = 1;
  while (best < n) best *= 2;
  double cost = fft_cost(best);
  const auto consider = [&](std::int64_t odd) {
    while (odd < n) odd *= 2;
    const double c = fft_cost(odd);
    if (c < cost) {
      best = odd;
      cost = c;
    }
  };
  for (std::int64_t a = 1; a < 2 * n; a *= 3)
    for (std::int64_t b = a; b < 2 * n; b *= 5)
      for (std::int64_t c = b; c < 2 * n; c *= 7)
        for (std::int64_t factor : {1, 11, 13})
          if (c * factor < 2 * n) consider(c * factor);
  return best;
}

}  // namespace weft::detail
