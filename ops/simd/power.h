// log(1 + x), log(1 + e^x) and powers of vectors. The rules of simd/math.h apply.
#pragma once
#include "simd/trigonometry.h"

namespace weft::detail::WEFT_ISA::math {

// ln(1 + x), 2 ULP: with u = 1 + x rounded, ln u + (x - (u - 1))/u. The result for -0 is -0, for -1 -inf, and for
// numbers below -1 NaN.
template <class V>
inline V log1p(V x) noexcept {
  const V u = V(1) + x;
  const V y = math::log(u) + simd::quotient(x - (u - V(1)), u);
  const V infinity(Constants<typename V::value_type>::infinity);
  return simd::select(x == V(0), x, simd::select(x == V(-1), -infinity, simd::select(x == infinity, x, y)));
}

// ln(1 + e^x) = max(x, 0) + ln(1 + e^-|x|), 2.5 ULP.
template <class V>
inline V softplus(V x) noexcept {
  return at_least(x, V(0)) + math::log1p(exp_bounded(-simd::abs(x)));
}

// A number high + low, where low is the rounding error of high.
struct Exact {
  simd::Vec<double> high, low;
};

// Returns x with only the upper 26 bits of its mantissa. Products of two such numbers are exact.
inline simd::Vec<double> upper_half(simd::Vec<double> x) noexcept {
  return from_bits<simd::Vec<double>>(to_bits(x) & ~std::uint64_t{0x7ffffff});
}

// a b (Dekker 1971), with or without FMA.
inline Exact exact_product(simd::Vec<double> a, simd::Vec<double> b) noexcept {
  using V = simd::Vec<double>;
  const V a1 = upper_half(a), a2 = a - a1, b1 = upper_half(b), b2 = b - b1, p = a * b;
  return {p, (((a1 * b1 - p) + a1 * b2) + a2 * b1) + a2 * b2};
}

// a + b for |a| >= |b|, or a = 0.
inline Exact exact_sum(simd::Vec<double> a, simd::Vec<double> b) noexcept {
  const simd::Vec<double> sum = a + b;
  return {sum, b - (sum - a)};
}

// (ln((1+s)/(1-s)) - 2s - ⅔s³)/s⁵ as a polynomial in s², for sqrt(½) <= (1+s)/(1-s) <= sqrt(2). The relative error of
// ln is 9e-22.
inline constexpr double log_terms[] = {0x1.999999999999ap-2, 0x1.2492492492521p-2, 0x1.c71c71c6eaa10p-3,
                                       0x1.745d177a96056p-3, 0x1.3b1395d2190c1p-3, 0x1.1118c7e4b0917p-3,
                                       0x1.df7cc8e5fa539p-4, 0x1.e02e6fff27908p-4};

// ln a = high + low for a >= 0, with a relative error of about 2^-63. high is -inf at 0 and inf at inf. As in
// math::log, ln a = k ln 2 + 2s + ⅔s³ + …, but here s = f/(2 + f) and its cube have low parts, too.
inline Exact exact_log(simd::Vec<double> a) noexcept {
  using C = Constants<double>;
  using V = simd::Vec<double>;
  const auto tiny = a < V(C::min_normal);
  const Bits<V> one = to_bits(V(1)), root_half = to_bits(V(C::root_half));
  const Bits<V> bits = to_bits(simd::select(tiny, a * V(C::two_to_mantissa), a)) + (one - root_half);
  const Bits<V> mantissa_mask = to_bits(V(C::min_normal)) - 1;
  const V e = from_bits<V>((bits >> C::mantissa) | to_bits(V(C::two_to_mantissa))) - V(C::two_to_mantissa);
  const V k = e - simd::select(tiny, V(C::bias + C::mantissa), V(C::bias));
  const V f = from_bits<V>((bits & mantissa_mask) + root_half) - V(1);
  const Exact divisor = exact_sum(V(2), f);
  const V s = simd::quotient(f, divisor.high);
  const Exact back = exact_product(s, divisor.high);
  const V s_low = simd::quotient(((f - back.high) - back.low) - s * divisor.low, divisor.high);
  const Exact z = exact_product(s, s), cube = exact_product(z.high, s);
  const V cube_low = cube.low + (simd::fma(V(2) * s, s_low, z.low) * s + z.high * s_low);
  const Exact third = exact_product(cube.high, V(0x1.5555555555555p-1));
  const V third_low = third.low + simd::fma(cube.high, V(0x1.5555555555555p-55), cube_low * V(0x1.5555555555555p-1));
  const V rest = cube.high * z.high * polynomial(z.high, log_terms);
  const Exact first = exact_sum(k * V(C::ln2_hi), s + s), second = exact_sum(first.high, third.high);
  const V low = (first.low + second.low) + (simd::fma(k, V(C::ln2_lo), third_low) + (s_low + s_low)) + rest;
  const Exact sum = exact_sum(second.high, low);
  const V infinity(C::infinity);
  const V special = simd::select(a == V(0), -infinity, simd::select(a == infinity, infinity, a + a));
  const auto ordinary = (a > V(0)) && (a < infinity);
  return {simd::select(ordinary, sum.high, special), simd::select(ordinary, sum.low, V(0))};
}

// a^y for a >= 0, computed as e^(y ln a) including the rounding errors of y ln a.
inline simd::Vec<double> power_of_magnitude(simd::Vec<double> a, simd::Vec<double> y) noexcept {
  using C = Constants<double>;
  using V = simd::Vec<double>;
  const Exact log = exact_log(a), product = exact_product(y, log.high);
  const V bounded = at_least(at_most(product.high, V(C::exp_max)), V(C::exp_zero));
  const V biased = simd::fma(bounded, V(C::log2e), V(C::round)), n = biased - V(C::round);
  // The low part is NaN where the product is ±inf.
  const V rest = simd::select(bounded == product.high, product.low + y * log.low, V(0));
  const V r = simd::fnma(n, V(C::ln2_lo), simd::fnma(n, V(C::ln2_hi), bounded)) + rest;
  const V q = simd::fma(r * r, polynomial(r, C::exp), r);
  return math::scale(V(1) + q, n);
}

// x^y with the special cases of C's pow. The result is 1 for y = 0 or x = 1, even if the other operand is NaN. It is
// NaN if x is negative and finite and y is not an integer. `magnitude` is |x|^y.
inline simd::Vec<double> power_from(simd::Vec<double> magnitude, simd::Vec<double> x, simd::Vec<double> y) noexcept {
  using C = Constants<double>;
  using V = simd::Vec<double>;
  // Adding 2^52 rounds a smaller number to an integer. All numbers from 2^52 on are integers, and all numbers from 2^53
  // on are even.
  const V size = simd::abs(y), two52(C::two_to_mantissa), half = V(0.5) * size;
  const auto whole = !(size < two52) || ((size + two52) - two52 == size);
  const auto even = !(half < two52) || ((half + two52) - two52 == half);
  const V with_sign = simd::select(whole && !even, copy_sign(magnitude, x), magnitude);
  const auto invalid = (x < V(0)) && (x > -V(C::infinity)) && !whole;
  const V result = simd::select(invalid, V(C::nan), with_sign);
  const auto unity = (x == V(1)) || (y == V(0)) || ((x == V(-1)) && (size == V(C::infinity)));
  return simd::select(unity, V(1), result);
}

// x^y. The error is 0.51 ULP in f32 and 1.3 ULP in f64 (1.2 ULP if the result is a normal number).
inline simd::Vec<double> pow(simd::Vec<double> x, simd::Vec<double> y) noexcept {
  return power_from(power_of_magnitude(simd::abs(x), y), x, y);
}
// For float, logarithms and exponentials in double are accurate enough.
inline simd::Vec<float> pow(simd::Vec<float> x, simd::Vec<float> y) noexcept {
  using V = simd::Vec<double>;
  const auto power = [](V a, V b) noexcept { return power_from(math::exp(b * math::log(simd::abs(a))), a, b); };
  return in_doubles(power, x, y);
}

}  // namespace weft::detail::WEFT_ISA::math
