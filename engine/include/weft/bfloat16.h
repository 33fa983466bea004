/// \file
/// bfloat16: the upper half of a float.
#pragma once
#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "weft/visibility.h"

WEFT_PUBLIC_BEGIN
namespace weft {

/// A number with float's range and 8 significant bits, the element type of DType::bf16 tensors. Its 16 bits are a
/// float's sign, exponent and upper 7 fraction bits, so every bfloat16 is also a float. Convert it to float for
/// computations.
/// Conversions from other types round once, to nearest with ties to even. Values with a magnitude of at least 2^128 -
/// 2^119 become infinite. Denormals are rounded like other numbers. A NaN becomes a quiet NaN. A float's NaN keeps the
/// upper bits of its payload.
struct bfloat16 {
  std::uint16_t bits;  ///< the upper 16 bits of the float

  bfloat16() = default;  ///< uninitialized
  /// Rounds x.
  explicit bfloat16(float x) noexcept {
    std::uint32_t u;
    std::memcpy(&u, &x, sizeof u);
    const std::uint32_t rounded = (u + 0x7fff + (u >> 16 & 1)) >> 16, quiet = u >> 16 | 0x40;
    bits = static_cast<std::uint16_t>((u & 0x7fffffff) > 0x7f800000 ? quiet : rounded);
  }
  /// Rounds x once, without an intermediate float.
  explicit bfloat16(double x) noexcept : bfloat16(to_odd(x)) {}
  /// Rounds the integer x once.
  template <class Integer, class = std::enable_if_t<std::is_integral<Integer>::value>>
  explicit bfloat16(Integer x) noexcept : bfloat16(to_odd(static_cast<std::int64_t>(x))) {
    static_assert(sizeof(Integer) < 8 || std::is_signed<Integer>::value, "a number of at most 64 bits with its sign");
  }
  /// Returns the float with the same value.
  explicit operator float() const noexcept {
    const std::uint32_t u = std::uint32_t{bits} << 16;
    float x;
    std::memcpy(&x, &u, sizeof x);
    return x;
  }

 private:
  // Rounds x to 24 bits. If x lies between two floats, returns the one whose last bit is 1 ("round to odd"). Rounding
  // this float to 8 bits then gives the same result as rounding x once.
  static float to_odd(double x) noexcept {
    const float f = static_cast<float>(x);
    const double nearest = static_cast<double>(f);
    std::uint32_t u;
    std::memcpy(&u, &f, sizeof u);
    u -= std::fabs(nearest) > std::fabs(x);  // towards 0
    u |= nearest != x;                       // also sets a NaN's last bit, which is dropped later
    float odd;
    std::memcpy(&odd, &u, sizeof odd);
    return odd;
  }
  // Rounds x to 53 bits in the same way.
  static double to_odd(std::int64_t x) noexcept {
    constexpr std::int64_t exact = std::int64_t{1} << 53, low = 0x7ff;
    if (x >= -exact && x <= exact) return static_cast<double>(x);
    return static_cast<double>(x >> 11 | static_cast<std::int64_t>((x & low) != 0)) * 2048;
  }
};
static_assert(sizeof(bfloat16) == 2 && std::is_trivially_copyable<bfloat16>::value, "an element of a tensor");

}  // namespace weft
WEFT_PUBLIC_END
