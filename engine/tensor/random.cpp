#include "weft/random.h"

#include <cmath>
#include <limits>
#include <string>

#include "weft/context.h"
#include "weft/detail/out_of_memory.h"
#include "weft/detail/wide_integer.h"

namespace weft {
using namespace detail;

namespace {

// Elements per task. The number is even, because a block gives two elements. Larger: threads may be idle. Smaller: more
// overhead per task. No benchmark shows the difference.
constexpr std::int64_t grain = 1 << 14;
constexpr double pi = 3.14159265358979323846;

// The four random words that elements 2·j and 2·j + 1 share, as two 64-bit numbers.
struct Block {
  std::uint64_t first, second;
};

Block block(std::uint64_t j, std::uint64_t stream, std::uint64_t seed) noexcept {
  const auto w = philox(j, stream, seed);
  return {std::uint64_t{w[1]} << 32 | w[0], std::uint64_t{w[3]} << 32 | w[2]};
}

double to_unit(std::uint64_t bits) noexcept { return static_cast<double>(bits >> 11) * 0x1p-53; }

// The logarithm, sine and cosine consist of basic arithmetic operations in a fixed order. This file is compiled without
// contraction to fused multiply-adds, so every machine computes the same bits. The functions of different C libraries
// may differ in the last bit.

// log x for normal x > 0, relative error below 4e-16: x = 2^e m, sqrt(1/2) <= m < sqrt(2), s = (m - 1) / (m + 1),
// log m = 2 artanh s = 2 (s + s^3/3 + s^5/5 + …) with |s| < 0.1716.
double logarithm(double x) noexcept {
  int e = 0;
  double m = std::frexp(x, &e);  // exact
  if (m < 0.70710678118654752) {
    m *= 2;
    --e;
  }
  const double s = (m - 1) / (m + 1), s2 = s * s;
  double sum = 0;
  for (int k = 25; k >= 3; k -= 2) sum = (sum + 1.0 / k) * s2;
  // ln 2 is split into two parts. The product of e and the first part is exact.
  return e * 0x1.62e42feep-1 + (2 * s + (2 * s * sum + e * 0x1.a39ef35793c76p-33));
}

struct Circle {
  double cosine, sine;
};

// cos and sin of 2 pi t for t in [0, 1), absolute error below 4e-16: t is split exactly into k/4 + r with |r| <= 1/8,
// and Taylor series give the cosine and sine of 2 pi r.
Circle circle(double t) noexcept {
  const int k = static_cast<int>(4 * t + 0.5);
  const double x = (t - 0.25 * k) * (2 * pi), x2 = x * x;
  double c = 1, s = 1;
  for (int i = 18; i >= 2; i -= 2) c = 1 - c * (x2 * (1.0 / (i * (i - 1))));
  for (int i = 19; i >= 3; i -= 2) s = 1 - s * (x2 * (1.0 / (i * (i - 1))));
  s *= x;
  switch (k % 4) {
    case 0: return {c, s};
    case 1: return {-s, c};
    case 2: return {-c, -s};
    default: return {s, -c};
  }
}

// Box-Muller: r cos and r sin of a uniform angle, where r = sqrt(-2 log u) and u is in (0, 1].
Circle normals(Block b) noexcept {
  const double u = static_cast<double>((b.first >> 11) + 1) * 0x1p-53;
  const double r = std::sqrt(-2 * logarithm(u));
  const Circle angle = circle(to_unit(b.second));
  return {r * angle.cosine, r * angle.sine};
}

// Element 2·j is pair(j)[0]; element 2·j + 1 is pair(j)[1].
template <class T, class Pair>
void fill_pairs(Tensor& t, Pair pair) {
  T* out = t.mutable_data<T>();
  Context::current().parallel_for(t.numel(), grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; i += 2) {
      const std::array<T, 2> two = pair(static_cast<std::uint64_t>(i) / 2);
      out[i] = two[0];
      if (i + 1 < end) out[i + 1] = two[1];
    }
  });
}

// Calls fill_pairs for f32 or f64. pair(j, T{}) returns two values of type T.
template <class Pair>
Tensor make(const char* op, const Shape& shape, DType dtype, Pair pair) {
  if (!is_real(dtype)) throw Error(std::string("[") + op + "] expected f32 or f64, got " + dtype_name(dtype));
  Tensor t = Tensor::empty(shape, dtype);
  if (dtype == DType::f32) fill_pairs<float>(t, [&](std::uint64_t j) { return pair(j, float{}); });
  else fill_pairs<double>(t, [&](std::uint64_t j) { return pair(j, double{}); });
  return t;
}

// Returns a value in [low, high). Rounding must not produce `high`.
template <class T>
T between(double low, double high, std::uint64_t bits) noexcept {
  const T value = static_cast<T>(low + (high - low) * to_unit(bits));
  return value < static_cast<T>(high) ? value : std::nextafter(static_cast<T>(high), static_cast<T>(low));
}

}  // namespace

std::array<std::uint32_t, 4> philox(std::uint64_t counter_low, std::uint64_t counter_high, std::uint64_t key) noexcept {
  auto low = [](std::uint64_t x) { return static_cast<std::uint32_t>(x); };
  auto high = [](std::uint64_t x) { return static_cast<std::uint32_t>(x >> 32); };
  std::array<std::uint32_t, 4> c{low(counter_low), high(counter_low), low(counter_high), high(counter_high)};
  std::uint32_t k0 = low(key), k1 = high(key);
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t p = std::uint64_t{0xD2511F53} * c[0], q = std::uint64_t{0xCD9E8D57} * c[2];
    c = {high(q) ^ c[1] ^ k0, low(q), high(p) ^ c[3] ^ k1, low(p)};
    k0 += 0x9E3779B9;
    k1 += 0xBB67AE85;
  }
  return c;
}

std::uint64_t Random::bits(std::uint64_t i) const noexcept {
  const Block b = block(i / 2, stream_, seed_);
  return i % 2 == 0 ? b.first : b.second;
}

double Random::uniform(std::uint64_t i) const noexcept { return to_unit(bits(i)); }

double Random::normal(std::uint64_t i) const noexcept {
  const Circle two = normals(block(i / 2, stream_, seed_));
  return i % 2 == 0 ? two.cosine : two.sine;
}

// Returns floor(bits · n / 2^64). The probability of each value is within 2^-64 of 1/n.
std::uint64_t Random::below(std::uint64_t i, std::uint64_t n) const noexcept {
  return static_cast<std::uint64_t>((uint128{bits(i)} * n) >> 64);
}

// The child's seed and stream come from a block whose key differs from the key of this generator's numbers.
Random Random::split(std::uint64_t k) const noexcept {
  const Block b = block(k, stream_, ~seed_);
  return Random(b.first, b.second);
}

Tensor Random::uniform(const Shape& shape, double low, double high, DType dtype) const {
  return guard_memory("uniform", [&] {
    const double most = dtype == DType::f32 ? std::numeric_limits<float>::max() : std::numeric_limits<double>::max();
    if (!(low <= high) || !std::isfinite(high - low) || low < -most || high > most)
      throw Error("[uniform] expected finite low <= high, got " + std::to_string(low) + " and " + std::to_string(high));
    return make("uniform", shape, dtype, [&](std::uint64_t j, auto type) {
      using T = decltype(type);
      const Block b = block(j, stream_, seed_);
      return std::array<T, 2>{between<T>(low, high, b.first), between<T>(low, high, b.second)};
    });
  });
}

Tensor Random::normal(const Shape& shape, double mean, double deviation, DType dtype) const {
  return guard_memory("normal", [&] {
    if (!std::isfinite(mean) || !std::isfinite(deviation))
      throw Error("[normal] expected a finite mean and deviation, got " + std::to_string(mean) + " and " +
                  std::to_string(deviation));
    return make("normal", shape, dtype, [&](std::uint64_t j, auto type) {
      using T = decltype(type);
      const Circle two = normals(block(j, stream_, seed_));
      return std::array<T, 2>{static_cast<T>(mean + deviation * two.cosine),
                              static_cast<T>(mean + deviation * two.sine)};
    });
  });
}

}  // namespace weft
