// Unsigned integers of 128 bits.
#pragma once
#include <cstdint>

namespace weft::detail {

// An integer of two words, for 32-bit processors: the operations that weft uses. Shifts are by less than 128 bits.
class WideInteger {
 public:
  constexpr WideInteger(std::uint64_t low) noexcept : low_(low) {}
  constexpr explicit operator std::uint64_t() const noexcept { return low_; }
  constexpr explicit operator bool() const noexcept { return (high_ | low_) != 0; }

  // A product modulo 2^128, from products of 32 bits.
  friend constexpr WideInteger operator*(WideInteger a, WideInteger b) noexcept {
    const std::uint64_t a0 = a.low_ & 0xffffffff, a1 = a.low_ >> 32, b0 = b.low_ & 0xffffffff, b1 = b.low_ >> 32;
    const std::uint64_t middle = a1 * b0 + (a0 * b0 >> 32), other = a0 * b1 + (middle & 0xffffffff);
    const std::uint64_t high = a1 * b1 + (middle >> 32) + (other >> 32) + a.high_ * b.low_ + a.low_ * b.high_;
    return {high, a.low_ * b.low_};
  }
  friend constexpr WideInteger operator+(WideInteger a, WideInteger b) noexcept {
    const std::uint64_t low = a.low_ + b.low_;
    return {a.high_ + b.high_ + (low < a.low_), low};
  }
  friend constexpr WideInteger operator-(WideInteger a) noexcept { return {~a.high_ + (a.low_ == 0), ~a.low_ + 1}; }
  friend constexpr WideInteger operator|(WideInteger a, WideInteger b) noexcept {
    return {a.high_ | b.high_, a.low_ | b.low_};
  }
  friend constexpr WideInteger operator<<(WideInteger a, int n) noexcept {
    if (n == 0) return a;
    if (n >= 64) return {a.low_ << (n - 64), 0};
    return {a.high_ << n | a.low_ >> (64 - n), a.low_ << n};
  }
  friend constexpr WideInteger operator>>(WideInteger a, int n) noexcept {
    if (n == 0) return a;
    if (n >= 64) return {0, a.high_ >> (n - 64)};
    return {a.high_ >> n, a.low_ >> n | a.high_ << (64 - n)};
  }

 private:
  constexpr WideInteger(std::uint64_t high, std::uint64_t low) noexcept : high_(high), low_(low) {}

  std::uint64_t high_ = 0, low_;
};

#ifdef __SIZEOF_INT128__
__extension__ typedef unsigned __int128 uint128;  // ISO C++ has no 128-bit integers
#else
using uint128 = WideInteger;
#endif

}  // namespace weft::detail
