// sin and cos of a vector, for all arguments. The rules of simd/math.h apply.
//
// Error bounds: f32 0.51 ULP, f64 0.9 ULP, over the whole domain. ±inf and NaN give NaN. xsimd's functions are not
// used, because for large arguments they call functions that are not templates of the instruction set (simd/family.h).
#pragma once
#include "simd/math.h"
#include "weft/detail/wide_integer.h"

namespace weft::detail::WEFT_ISA::math {

using Floats [[gnu::vector_size(WEFT_VECTOR_BYTES)]] = float;
using HalfFloats [[gnu::vector_size(WEFT_VECTOR_BYTES / 2)]] = float;
using Doubles [[gnu::vector_size(WEFT_VECTOR_BYTES)]] = double;

// `widened` converts half of the lanes to doubles, starting with lane `first`. `narrowed` converts two vectors of
// doubles to the two halves of a float vector.
template <int first, int... I>
inline simd::Vec<double> widened(simd::Vec<float> x, std::integer_sequence<int, I...>) noexcept {
  const auto all = __builtin_bit_cast(Floats, x);
  const HalfFloats half = __builtin_shufflevector(all, all, (first + I)...);
  return __builtin_bit_cast(simd::Vec<double>, __builtin_convertvector(half, Doubles));
}
template <int... I>
inline simd::Vec<float> narrowed(simd::Vec<double> low, simd::Vec<double> high,
                                 std::integer_sequence<int, I...>) noexcept {
  const HalfFloats a = __builtin_convertvector(__builtin_bit_cast(Doubles, low), HalfFloats);
  const HalfFloats b = __builtin_convertvector(__builtin_bit_cast(Doubles, high), HalfFloats);
  const Floats both = __builtin_shufflevector(a, b, I...);
  return __builtin_bit_cast(simd::Vec<float>, both);
}

// y[i] = f(x[i]...) for float vectors and an f of doubles. The two halves of the lanes are widened, and the results are
// rounded.
template <class F, class... X>
inline simd::Vec<float> in_doubles(F f, X... x) noexcept {
  constexpr int half = static_cast<int>(simd::lanes<double>);
  constexpr std::make_integer_sequence<int, half> lanes;
  return narrowed(f(widened<0>(x, lanes)...), f(widened<half>(x, lanes)...),
                  std::make_integer_sequence<int, 2 * half>());
}

// x = n π/2 + high + low, |high| <= π/4. The low bits of `quarters` are those of n.
struct Angle {
  simd::Vec<double> high, low;
  Bits<simd::Vec<double>> quarters;
};

// The bits of 2/π: 64 zeros, followed by the bits after the binary point.
inline constexpr std::uint64_t two_over_pi[] = {
    0x0000000000000000, 0xa2f9836e4e441529, 0xfc2757d1f534ddc0, 0xdb6295993c439041, 0xfe5163abdebbc561,
    0xb7246e3a424dd2e0, 0x06492eea09d1921c, 0xfe1deb1cb129a73e, 0xe88235f52ebb4484, 0xe99c7026b45f7e41,
    0x3991d639835339f4, 0x9c845f8bbdf9283b, 0x1ff897ffde05980f, 0xef2f118b5a0a6d1f, 0x6d367ecf27cb09b7,
    0x4f463f669e5fea2d, 0x7527bac7ebe5f17b, 0x3d0739f78a5292ea, 0x6bfb5fb11f8d5d08, 0x56033046fc7b6bab};
inline constexpr double largest_reduced = 0x1p20;  // for a larger |x|, n π/2 would not be exact in the vector code

struct ScalarAngle {
  double high, low;
  std::uint64_t quarters;
};

// 2^-n for 0 <= n < 1023.
inline double negative_power_of_2(int n) noexcept {
  return __builtin_bit_cast(double, static_cast<std::uint64_t>(1023 - n) << 52);
}

// Reduces one finite x with |x| > largest_reduced (Payne and Hanek 1983). x = m 2^e with an integer m. Only 192 bits of
// 2/π matter for x · 2/π modulo 4. The bits before them give multiples of 4, and the bits after them add less than
// 2^-137. Every f64 number is at least 2^-62 away from all nonzero multiples of π/2.
inline ScalarAngle reduce_huge(double x) noexcept {
  const auto bits = __builtin_bit_cast(std::uint64_t, x);
  const std::uint64_t m = (bits & 0xfffffffffffff) | 0x10000000000000;
  const int e = static_cast<int>(bits >> 52 & 0x7ff) - 1075;
  // The bit of 2/π whose product with m has the weight 2.
  const int first = e - 2 + 64;
  const auto word = [first](int i) noexcept {
    const std::uint64_t* p = two_over_pi + first / 64 + i;
    const int shift = first % 64;
    return shift == 0 ? p[0] : p[0] << shift | p[1] >> (64 - shift);
  };
  // The product modulo 2^192, in units of 2^-190.
  const uint128 low = uint128{m} * word(2);
  const uint128 high = uint128{m} * word(1) + (uint128{m * word(0)} << 64) + (low >> 64);
  std::uint64_t quarters = static_cast<std::uint64_t>(high >> 126);
  uint128 fraction = high << 2 | static_cast<std::uint64_t>(low) >> 62;  // in units of 2^-128
  bool negative = static_cast<bool>(fraction >> 127);
  if (negative) {  // the nearest multiple is the next one
    ++quarters;
    fraction = -fraction;
  }
  const auto top = static_cast<std::uint64_t>(fraction >> 64);
  const int zeros = top ? __builtin_clzll(top) : 64 + __builtin_clzll(static_cast<std::uint64_t>(fraction));
  const auto leading = static_cast<std::uint64_t>(fraction << zeros >> 64);
  // times π/2 = 0xc90f… 2^-63
  const auto angle = static_cast<std::uint64_t>(uint128{leading} * 0xc90fdaa22168c235 >> 64);
  const double unit = negative_power_of_2(63 + zeros);
  ScalarAngle result{static_cast<double>(angle & ~std::uint64_t{2047}) * unit,
                     static_cast<double>(angle & std::uint64_t{2047}) * unit, quarters};
  if (bits >> 63) {
    negative = !negative;
    result.quarters = -result.quarters;
  }
  if (negative) {
    result.high = -result.high;
    result.low = -result.low;
  }
  return result;
}

// Replaces the angles of the lanes with a finite x and |x| > largest_reduced.
[[gnu::noinline]] inline void reduce_huge_lanes(const double* x, double* high, double* low,
                                                std::uint64_t* quarters) noexcept {
  for (std::int64_t i = 0; i < simd::lanes<double>; ++i) {
    const double magnitude = x[i] < 0 ? -x[i] : x[i];
    if (!(magnitude > largest_reduced && magnitude <= 0x1.fffffffffffffp1023)) continue;
    const ScalarAngle angle = reduce_huge(x[i]);
    high[i] = angle.high;
    low[i] = angle.low;
    quarters[i] = angle.quarters;
  }
}

// Cody and Waite's reduction. π/2 is the sum of three parts. The first two parts have 33 bits, so that their products
// with n are exact.
inline Angle reduced_angle(simd::Vec<double> x) noexcept {
  using V = simd::Vec<double>;
  const V round(0x1.8p52), biased = simd::fma(x, V(0x1.45f306dc9c883p-1), round), n = biased - round;
  const V first = simd::fnma(n, V(0x1.921fb544p+0), x), product = n * V(0x1.0b4611a6p-34);
  const V second = first - product, back = second - first;
  const V lost = (first - (second - back)) - (product + back);  // second + lost = first - product
  const V third = n * V(0x1.3198a2e037073p-69), high = second - third;
  Angle angle{high, ((second - high) - third) + lost, to_bits(biased)};
  if (simd::any(simd::abs(x) > V(largest_reduced))) {
    double from[simd::lanes<double>], a[simd::lanes<double>], b[simd::lanes<double>];
    std::uint64_t q[simd::lanes<double>];
    simd::store(from, x);
    simd::store(a, angle.high);
    simd::store(b, angle.low);
    __builtin_memcpy(q, &angle.quarters, sizeof q);
    reduce_huge_lanes(from, a, b, q);
    angle.high = simd::load(a);
    angle.low = simd::load(b);
    __builtin_memcpy(&angle.quarters, q, sizeof q);
  }
  return angle;
}

// sin r = r + r³ S(r²), cos r = 1 - r²/2 + r⁴ C(r²) for |r| <= π/4. The relative errors are 1.3e-17 and 6e-19.
inline constexpr double sin_terms[] = {-0x1.5555555555555p-3, 0x1.1111111110bb1p-7,   -0x1.a01a019e8357dp-13,
                                       0x1.71de37961e4c6p-19, -0x1.ae600a926c89ap-26, 0x1.5e0af186af739p-33};
inline constexpr double cos_terms[] = {0x1.5555555555555p-5,   -0x1.6c16c16c16966p-10, 0x1.a01a019f4e867p-16,
                                       -0x1.27e4fa17a41b4p-22, 0x1.1eeb68b109173p-29,  -0x1.907d7aebd5e3dp-37};

// ±sine or ±cosine: sin(r + n π/2), given sin r and cos r.
inline simd::Vec<double> in_quadrant(Bits<simd::Vec<double>> n, simd::Vec<double> sine,
                                     simd::Vec<double> cosine) noexcept {
  using V = simd::Vec<double>;
  const Bits<V> odd = -(n & 1);
  return from_bits<V>(((odd & to_bits(cosine)) | (~odd & to_bits(sine))) ^ (n & 2) << 62);
}

// sin(x + quarters π/2)
inline simd::Vec<double> sin_from(simd::Vec<double> x, std::uint64_t quarters) noexcept {
  using V = simd::Vec<double>;
  const Angle angle = reduced_angle(x);
  const V r = angle.high, z = r * r, half = V(0.5) * z;
  const V sine = r + simd::fma(z * r, polynomial(z, sin_terms), simd::fnma(half, angle.low, angle.low));
  const V one = V(1) - half;
  const V cosine = one + (((V(1) - one) - half) + simd::fma(z * z, polynomial(z, cos_terms), -(r * angle.low)));
  return in_quadrant(angle.quarters + quarters, sine, cosine);
}

// (sin r)/r and cos r in r² for |r| <= π/4. The relative errors, 5.2e-12 and 1.2e-10, are small compared with f32's
// rounding error.
inline constexpr double short_sin_terms[] = {1, -0x1.5555554c6ff79p-3, 0x1.111108690ac9ap-7, -0x1.a00f7e1500a36p-13,
                                             0x1.6cd1b0c5cf795p-19};
inline constexpr double short_cos_terms[] = {1, -0.5, 0x1.55554a0fa5a2cp-5, -0x1.6c0c3296decf4p-10,
                                             0x1.99eb4c58735f5p-16};

// sin(x + quarters π/2) for an x that was f32, |x| <= largest_reduced. π/2 is a sum of two parts. The first has 33 bits,
// so that its product with n is exact. No such x is nearer than 2^-28 to a nonzero multiple of π/2. The error of r before
// its rounding is below 2^-66.
inline simd::Vec<double> short_sin_from(simd::Vec<double> x, std::uint64_t quarters) noexcept {
  using V = simd::Vec<double>;
  const V round(0x1.8p52), biased = simd::fma(x, V(0x1.45f306dc9c883p-1), round), n = biased - round;
  const V r = simd::fnma(n, V(0x1.0b4611a626331p-34), simd::fnma(n, V(0x1.921fb544p+0), x)), z = r * r;
  return in_quadrant(to_bits(biased) + quarters, r * polynomial(z, short_sin_terms), polynomial(z, short_cos_terms));
}

inline simd::Vec<double> sin(simd::Vec<double> x) noexcept {
  return simd::select(x == simd::Vec<double>(0), x, sin_from(x, 0));  // keeps -0
}
inline simd::Vec<double> cos(simd::Vec<double> x) noexcept { return sin_from(x, 1); }

inline simd::Vec<float> sin_from(simd::Vec<float> x, std::uint64_t quarters) noexcept {
  using V = simd::Vec<double>;
  const simd::Vec<float> y = in_doubles([=](V v) noexcept { return short_sin_from(v, quarters); }, x);
  const auto huge = simd::abs(x) > simd::Vec<float>(largest_reduced);
  if (!simd::any(huge)) return y;
  return simd::select(huge, in_doubles([=](V v) noexcept { return sin_from(v, quarters); }, x), y);
}
inline simd::Vec<float> sin(simd::Vec<float> x) noexcept { return sin_from(x, 0); }
inline simd::Vec<float> cos(simd::Vec<float> x) noexcept { return sin_from(x, 1); }

}  // namespace weft::detail::WEFT_ISA::math
