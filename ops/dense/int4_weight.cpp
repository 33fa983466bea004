#include "dense/int4_weight.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

namespace weft::detail {
namespace {

using std::int64_t;

// The scale is -m / f, where m is the element with the largest magnitude, so that m becomes a value from -6.5 to -8.
// Fewer candidates: the sum of squared errors of normally distributed weights is up to 11 % larger (with f = 8 alone).
// More candidates, also positive ones: it is at most 1 % smaller.
constexpr float first_divisor = 6.5f, divisor_step = 0.25f;
constexpr int divisors = 9;
// Smaller groups have scale 0. A scale that is not 0 is therefore never denormal.
constexpr float smallest_magnitude = 0x1p-120f;

// x rounded to the nearest whole number in -8 … 7, ties to even. The sum holds the whole number in its low bits.
float nearest_value(float x) { return std::clamp(x, -8.0f, 7.0f) + 0x1.8p23f - 0x1.8p23f; }

// Σ (w / scale - value)²
float squared_error(int64_t n, const float* w, float scale) {
  float errors[int4_group];
  for (int64_t i = 0; i < n; ++i) {
    const float x = w[i] / scale, error = x - nearest_value(x);
    errors[i] = error * error;
  }
  return std::accumulate(errors, errors + n, 0.0f);
}

}  // namespace

int int4_value(float w, float scale) { return scale == 0 ? 0 : static_cast<int>(nearest_value(w / scale)); }

bfloat16 int4_scale(int64_t n, const float* w) {
  const float m = *std::max_element(w, w + n, [](float a, float b) { return std::abs(a) < std::abs(b); });
  if (std::abs(m) < smallest_magnitude) return bfloat16(0.0f);
  bfloat16 best(0.0f);
  float least = 0;
  for (int d = 0; d < divisors; ++d) {
    const bfloat16 scale(-m / (first_divisor + divisor_step * static_cast<float>(d)));
    const float size = static_cast<float>(scale) / m,
                error = squared_error(n, w, static_cast<float>(scale)) * size * size;
    if (d == 0 || error < least) {
      best = scale;
      least = error;
    }
  }
  return best;
}

void round_to_int4(int64_t n, const float* w, std::int8_t* values, bfloat16* scales) {
  for (int64_t begin = 0; begin < n; begin += int4_group, ++scales) {
    const int64_t end = std::min(n, begin + int4_group);
    *scales = int4_scale(end - begin, w + begin);
    for (int64_t i = begin; i < end; ++i)
      values[i] = static_cast<std::int8_t>(int4_value(w[i], static_cast<float>(*scales)));
  }
}

void pack_int4(int64_t n, const std::int8_t* values, std::int8_t* packed) {
  for (int64_t i = 0; i < n; i += 2) {
    const int low = values[i] + 8, high = (i + 1 < n ? values[i + 1] : 0) + 8;
    packed[i / 2] = static_cast<std::int8_t>(low | high << 4);
  }
}

void unpack_int4(int64_t n, const std::int8_t* packed, std::int8_t* values) {
  for (int64_t i = 0; i < n; ++i)
    values[i] = static_cast<std::int8_t>((static_cast<std::uint8_t>(packed[i / 2]) >> (i % 2 * 4) & 15) - 8);
}

void Int4Panels::write_row(int64_t row, const std::int8_t* values, const bfloat16* scales, std::int8_t* panels) const {
  for (int64_t g = 0; g < groups; ++g) {
    int group[int4_group];
    for (int64_t p = 0; p < int4_group; ++p) {
      const int64_t at = g * int4_group + p;
      group[p] = (at < columns ? values[at] : 0) + 8;
    }
    std::int8_t* to = panels + group_at(row, g);
    std::memcpy(to + scale_at(row), scales + g, sizeof *scales);
    to += int4_scale_bytes(nr) + row % nr * 4;
    for (int64_t p = 0; p < int4_group / 2; ++p)
      to[p / 4 * nr * 4 + p % 4] = static_cast<std::int8_t>(group[p] | group[p + int4_group / 2] << 4);
  }
}

bfloat16 Int4Panels::read_group(int64_t row, int64_t g, const std::int8_t* panels, std::int8_t* values) const {
  const std::int8_t* from = panels + group_at(row, g);
  bfloat16 scale;
  std::memcpy(&scale, from + scale_at(row), sizeof scale);
  from += int4_scale_bytes(nr) + row % nr * 4;
  for (int64_t p = 0; p < int4_group / 2; ++p) {
    const int both = static_cast<std::uint8_t>(from[p / 4 * nr * 4 + p % 4]);
    values[p] = static_cast<std::int8_t>((both & 15) - 8);
    values[p + int4_group / 2] = static_cast<std::int8_t>((both >> 4) - 8);
  }
  return scale;
}

void Int4Panels::read_row(int64_t row, const std::int8_t* panels, std::int8_t* values, bfloat16* scales) const {
  for (int64_t g = 0; g < groups; ++g) {
    std::int8_t group[int4_group];
    scales[g] = read_group(row, g, panels, group);
    std::copy_n(group, width(g), values + g * int4_group);
  }
}

void Int4Panels::dequantize_row(int64_t row, const std::int8_t* panels, float* y) const {
  for (int64_t g = 0; g < groups; ++g) {
    std::int8_t group[int4_group];
    const auto scale = static_cast<float>(read_group(row, g, panels, group));
    for (int64_t p = 0; p < width(g); ++p) y[g * int4_group + p] = scale * static_cast<float>(group[p]);
  }
}

}  // namespace weft::detail
