#include "data/shuffled.h"

namespace weft::detail {

std::int64_t shuffled(std::int64_t i, std::int64_t count, const Random& random) {
  int half = 1;  // bits
  while (std::int64_t{1} << 2 * half < count) ++half;
  const std::uint64_t mask = (std::uint64_t{1} << half) - 1;
  auto x = static_cast<std::uint64_t>(i);
  do {
    for (std::uint64_t round = 0; round < 4; ++round) {
      const std::uint64_t left = x >> half, right = x & mask;
      x = right << half | (left ^ (random.bits(round << half | right) & mask));
    }
  } while (x >= static_cast<std::uint64_t>(count));
  return static_cast<std::int64_t>(x);
}

}  // namespace weft::detail
