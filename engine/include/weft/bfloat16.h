/// \file
/// bfloat16: the upper half of a float.
#pragma once
#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>

#pragma GCC visibility push(default)
namespace weft {

/// A number with float's range and 8 significant bits, as tensors of DType::bf16 hold them: sign, exponent and the upper
/// 7 bits of the fraction of a float. Every one is a float; arithmetic is float's. Other numbers are rounded to it once,
/// to the nearest, ties to even: above 2^128 - 2^119 to infinity, denormals as any others. A NaN stays one: quiet, with
/// the upper bits of its payload.
struct bfloat16 {
  std::uint16_t bits;  ///< the float's upper 16

  bfloat16() = default;  ///< not set
  /// x rounded.
  explicit bfloat16(float x) noexcept {
    std::uint32_t u;
    std::memcpy(&u, &x, sizeof u);
    const std::uint32_t rounded = (u + 0x7fff + (u >> 16 & 1)) >> 16, quiet = u >> 16 | 0x40;
    bits = static_cast<std::uint16_t>((u & 0x7fffffff) > 0x7f800000 ? quiet : rounded);
  }
  /// x rounded once, not to a float first.
  explicit bfloat16(double x) noexcept : bfloat16(to_odd(x)) {}
  /// x, a whole number, rounded once.
  template <class Integer, class = std::enable_if_t<std::is_integral<Integer>::value>>
  explicit bfloat16(Integer x) noexcept : bfloat16(to_odd(static_cast<std::int64_t>(x))) {
    static_assert(sizeof(Integer) < 8 || std::is_signed<Integer>::value, "a number of at most 64 bits with its sign");
  }
  /// The same number.
  explicit operator float() const noexcept {
    const std::uint32_t u = std::uint32_t{bits} << 16;
    float x;
    std::memcpy(&x, &u, sizeof x);
    return x;
  }

 private:
  // x to 24 bits, of the two neighbours of an inexact one the odd: rounded again to 8 bits it is x rounded once.
  static float to_odd(double x) noexcept {
    const float f = static_cast<float>(x);
    const double nearest = static_cast<double>(f);
    std::uint32_t u;
    std::memcpy(&u, &f, sizeof u);
    u -= std::fabs(nearest) > std::fabs(x);  // towards 0
    u |= nearest != x;                       // so does a NaN's last bit, which is dropped
    float odd;
    std::memcpy(&odd, &u, sizeof odd);
    return odd;
  }
  // The same to 53 bits.
  static double to_odd(std::int64_t x) noexcept {
    constexpr std::int64_t exact = std::int64_t{1} << 53, low = 0x7ff;
    if (x >= -exact && x <= exact) return static_cast<double>(x);
    return static_cast<double>(x >> 11 | static_cast<std::int64_t>((x & low) != 0)) * 2048;
  }
};
static_assert(sizeof(bfloat16) == 2 && std::is_trivially_copyable<bfloat16>::value, "an element of a tensor");

}  // namespace weft
#pragma GCC visibility pop
