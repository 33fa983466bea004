// exp, expm1, log, tanh, sigmoid, erf and the normal distribution of a vector, without branches: every lane executes
// the same instructions.
//
// Each function states its error bound in ULP. The bound holds over the whole domain, with or without FMA. It is the
// largest observed error, rounded up. For f32 all numbers were tried, for f64 a dense sample.
// tests/ops/kernels_math.cpp checks the bounds. NaN gives NaN, limits at ±inf are exact, and subnormal inputs and
// results are handled like all others. The coefficients are minimax fits (Remez exchange with 50 digits). normal_cdf
// and gelu_derivative have absolute bounds, stated next to their coefficients. Callers must write math::exp, because
// argument-dependent lookup of a bare exp(x) finds xsimd's function.
#pragma once
#include "simd/simd.h"

namespace weft::detail::WEFT_ISA::math {

// The bits of a vector as unsigned integers of the same size. This is a GNU vector. The language's operators work on
// it, regardless of the version of xsimd, and it avoids warnings of g++ 12 about the AVX-512 shift intrinsics.
template <class T>
struct BitsOf;
template <>
struct BitsOf<float> {
  using Type = std::uint32_t;
};
template <>
struct BitsOf<double> {
  using Type = std::uint64_t;
};
template <class V>
struct BitVector {
  using Element = typename BitsOf<typename V::value_type>::Type;
  using Type [[gnu::vector_size(sizeof(V))]] = Element;
};
template <class V>
using Bits = typename BitVector<V>::Type;

template <class V>
inline Bits<V> to_bits(V x) noexcept {
  return __builtin_bit_cast(Bits<V>, x);
}
template <class V>
inline V from_bits(Bits<V> x) noexcept {
  return __builtin_bit_cast(V, x);
}

// c[first] + c[first + 1] x + … + c[last - 1] x^(last - 1 - first), by Horner's rule.
template <class V, class T, int N>
inline V horner(V x, const T (&c)[N], int first = 0, int last = N) noexcept {
  V y(c[last - 1]);
  for (int i = last - 2; i >= first; --i) y = simd::fma(y, x, V(c[i]));
  return y;
}

// c[0] + c[1] x + … + c[N-1] x^(N-1). x^4 and all terms must be finite, because a long polynomial otherwise gives inf -
// inf = NaN. Callers therefore clamp x. Long polynomials use Estrin's scheme with four coefficients at a time, because
// each multiply-add of Horner's rule waits for the previous one.
template <class V, class T, int N>
inline V polynomial(V x, const T (&c)[N]) noexcept {
  if constexpr (N < 8) {
    return horner(x, c);
  } else {
    const V x2 = x * x, x4 = x2 * x2;
    const auto four = [&](int i) noexcept {
      if (i + 2 >= N) return horner(x, c, i, N);
      return simd::fma(horner(x, c, i + 2, i + 4 < N ? i + 4 : N), x2, horner(x, c, i, i + 2));
    };
    constexpr int last = (N - 1) / 4 * 4;
    V y = four(last);
    for (int i = last - 4; i >= 0; i -= 4) y = simd::fma(y, x4, four(i));
    return y;
  }
}

template <class T>
struct Constants;

template <>
struct Constants<float> {
  static constexpr int mantissa = 23;
  static constexpr float log2e = 0x1.715476p+0f;
  // ln 2 is split into two parts. The first part has so few bits that its product with an exponent is exact.
  static constexpr float ln2_hi = 0x1.62e4p-1f, ln2_lo = 0x1.7f7d1cp-20f;
  static constexpr float two_to_mantissa = 0x1p+23f, min_normal = 0x1p-126f, bias = 127;
  static constexpr float infinity = __builtin_inff(), nan = __builtin_nanf("");
  // Adding `round` to x rounds x to an integer n, and leaves n + 127 in the low bits of the sum.
  static constexpr float round = 0x1.8p+23f + 127;
  // exp(x) is inf above exp_max, a normal number from exp_normal on, and 0 below exp_zero.
  static constexpr float exp_max = 89, exp_normal = -87, exp_zero = -104;
  // (e^r - 1 - r)/r² for |r| <= ½ ln 2. The relative error of e^r is 3.1e-9.
  static constexpr float exp[] = {0x1.fffffcp-2f, 0x1.555492p-3f, 0x1.5558f2p-5f, 0x1.123a2p-7f, 0x1.6a23d6p-10f};
  static constexpr float root_half = 0x1.6a09e6p-1f;
  // (ln((1+s)/(1-s)) - 2s)/s³ as a polynomial in s², for sqrt(½) <= (1+s)/(1-s) <= sqrt(2). The relative error of ln is
  // 8.1e-10.
  static constexpr float log[] = {0x1.55557ap-1f, 0x1.995eb2p-2f, 0x1.31e46ap-2f};
  // -(ln(1 - erf(x)) + x)/x up to erf_max, where erf rounds to 1. The relative error of erf is 4.0e-9.
  static constexpr float erf_max = 4;
  static constexpr float erf[] = {0x1.06eba8p-3f,  0x1.45f2fap-1f,   0x1.a4fa5ep-4f,  -0x1.39cdc6p-6f, -0x1.505f5ap-13f,
                                  0x1.b5003cp-10f, -0x1.4bc9d6p-11f, 0x1.ed6c24p-14f, -0x1.369686p-17f};
  // ln Φ(-x) for x >= 0. The error of Φ is 5.6e-9. At normal_max the value is below exp_normal.
  static constexpr float normal_max = 14;
  static constexpr float normal_tail[] = {-0x1.62e43p-1f,   -0x1.98846ap-1f,  -0x1.45f132p-2f,  -0x1.29e056p-5f,
                                          0x1.3c8468p-8f,   -0x1.10b298p-17f, -0x1.9280c8p-13f, 0x1.bd0494p-15f,
                                          -0x1.02e6eep-17f, 0x1.4a4134p-21f,  -0x1.6a323p-26f};
  // (Φ(-x) - xφ(x)) e^(x²/2) up to gelu_max. The error of the product with e^(-x²/2) is 1.7e-8.
  static constexpr float gelu_max = 6;
  static constexpr float gelu_slope[] = {0x1.fffffep-2f,  -0x1.98841ap-1f,  0x1.fff19ep-3f,  -0x1.0ffc7ap-3f,
                                         0x1.fb47e2p-5f,  -0x1.a15482p-6f,  0x1.2709bp-7f,   -0x1.537ce2p-9f,
                                         0x1.278406p-11f, -0x1.638de2p-14f, 0x1.02a9a6p-17f, -0x1.52cf68p-22f};
};

template <>
struct Constants<double> {
  static constexpr int mantissa = 52;
  static constexpr double log2e = 0x1.71547652b82fep+0;
  static constexpr double ln2_hi = 0x1.62e42fefa38p-1, ln2_lo = 0x1.ef35793c7673p-45;
  static constexpr double two_to_mantissa = 0x1p+52, min_normal = 0x1p-1022, bias = 1023;
  static constexpr double infinity = __builtin_inf(), nan = __builtin_nan("");
  static constexpr double round = 0x1.8p+52 + 1023;
  static constexpr double exp_max = 710, exp_normal = -708, exp_zero = -746;
  // The relative error of e^r is 3.7e-18.
  static constexpr double exp[] = {0x1.000000000000ap-1,  0x1.55555555554f8p-3,  0x1.5555555550867p-5,
                                   0x1.111111112819ep-7,  0x1.6c16c184328c4p-10, 0x1.a01a0128a295fp-13,
                                   0x1.a01999edf7732p-16, 0x1.71df28955c393p-19, 0x1.28ad94101df79p-22,
                                   0x1.ad7b1f8d4e053p-26};
  static constexpr double root_half = 0x1.6a09e667f3bcdp-1;
  // The relative error of ln is 1.3e-18.
  static constexpr double log[] = {0x1.5555555555592p-1, 0x1.999999997fd59p-2, 0x1.24924941fae28p-2,
                                   0x1.c71c51fdc2861p-3, 0x1.74664205381edp-3, 0x1.39a15883d16d0p-3,
                                   0x1.2f09ea569b31dp-3};
  // For |x| < erf_split: erf(x)/x - 1 as a polynomial in x², with a relative error of 3.6e-17. From there to erf_max,
  // where erf rounds to 1: ln(1 - erf(x)) as a polynomial in x, whose error causes an error of 1.6e-17 in erf.
  static constexpr double erf_split = 1.25, erf_max = 6;
  static constexpr double erf_small[] = {0x1.06eba8214db67p-3,   -0x1.812746b03794fp-2,  0x1.ce2f21a03d877p-4,
                                         -0x1.b82ce31167867p-6,  0x1.565bccedbc629p-8,   -0x1.c02daf96da411p-11,
                                         0x1.f9a2c4bb9ade4p-14,  -0x1.f4cc9bbf80d82p-17, 0x1.b9ab6ff56d376p-20,
                                         -0x1.5dcc24e3a18f8p-23, 0x1.ec902e25ac5e1p-27,  -0x1.1d41d24c1abeap-30,
                                         0x1.94a4a3615933ap-35};
  static constexpr double erf_large[] = {-0x1.b8de64224f24dp-19, -0x1.20db8a229930bp+0,  -0x1.4602f38d9b9aep-1,
                                         -0x1.a3ad56690654bp-4,  0x1.3047255312575p-6,   0x1.ec1956ef07e95p-11,
                                         -0x1.3d6334a8dcd46p-9,  0x1.2c612f6dfc73ap-10,  -0x1.72c058625f83cp-12,
                                         0x1.5033cbd11e1d2p-14,  -0x1.c7ec5955acbfdp-17, 0x1.c4f18adc5a4dap-20,
                                         -0x1.3864a5baff1a1p-23, 0x1.0ba17a62c6325p-27,  -0x1.ad0a050a96bb4p-33};
};

// x = n ln 2 + r, |r| <= ½ ln 2 (Cody-Waite); q = e^r - 1. The low bits of `biased` are n plus the exponent's bias.
// `biased` requires |x| < 2^10.
template <class V>
struct Reduced {
  V n, q, biased;
};

template <class V>
inline Reduced<V> reduce_exp(V x) noexcept {
  using C = Constants<typename V::value_type>;
  const V biased = simd::fma(x, V(C::log2e), V(C::round)), n = biased - V(C::round);
  const V r = simd::fnma(n, V(C::ln2_lo), simd::fnma(n, V(C::ln2_hi), x));
  return {n, simd::fma(r * r, polynomial(r, C::exp), r), biased};
}

// 2^n, given n + round. n is an integer for which 2^n is a normal number.
template <class V>
inline V power_of_2(V biased) noexcept {
  return from_bits<V>(to_bits(biased) << Constants<typename V::value_type>::mantissa);
}

// min and max that keep NaN, because comparisons with NaN are false. On x86 each is one instruction. xsimd's own
// functions return either the NaN or the number, depending on xsimd's version (like std::min from 14 on) and on the
// processor.
template <class V>
inline V at_most(V x, V high) noexcept {
  using Register = typename V::register_type;
  const Register v = x, h = high;
  return V(h < v ? h : v);
}
template <class V>
inline V at_least(V x, V low) noexcept {
  using Register = typename V::register_type;
  const Register v = x, l = low;
  return V(l > v ? l : v);
}

// p 2^n for an integer n, rounded once if the result is subnormal. ½ < p < 2. Either |n| is less than twice the largest
// exponent, or n is so small that the result is 0.
template <class V>
inline V scale(V p, V n) noexcept {
#if WEFT_HAS_SCALE
  if constexpr (sizeof(typename V::value_type) == 4) return _mm512_scalef_ps(p, n);
  else return _mm512_scalef_pd(p, n);
#else
  using C = Constants<typename V::value_type>;
  const V half = n * V(0.5) + V(C::round);
  return p * power_of_2(half) * power_of_2((n - (half - V(C::round))) + V(C::round));
#endif
}

// e^x for x up to exp_max, 1.1 ULP. The result is 0 for x < lowest. Such an x is replaced by a number for which the
// processor recognizes immediately that the result is 0. Otherwise the processor would have to round the result to 0,
// which takes a hundred cycles, like a subnormal result.
template <class V>
inline V exp_from(typename V::value_type lowest, V x) noexcept {
  constexpr bool is_single = sizeof(typename V::value_type) == 4;
  constexpr int zero = WEFT_HAS_SCALE ? (is_single ? -1000 : -6000) : (is_single ? -150 : -1000);
  const auto [n, q, biased] = reduce_exp(simd::select(x < V(lowest), V(zero), x));
  return math::scale(V(1) + q, n);
}
template <class V>
inline V exp_bounded(V x) noexcept {
  return exp_from(Constants<typename V::value_type>::exp_zero, x);
}
// e^x for x <= 0, where only the absolute error of the result matters. Results that would be subnormal are 0, so a
// single power of 2 is enough for scaling.
template <class V>
inline V exp_flushed(V x) noexcept {
  const V lowest(Constants<typename V::value_type>::exp_normal);
  const auto [n, q, biased] = reduce_exp(at_least(x, lowest));
  return simd::select(x < lowest, V(0), (V(1) + q) * power_of_2(biased));
}

// e^x, 1.1 ULP.
template <class V>
inline V exp(V x) noexcept {
  return exp_bounded(at_most(x, V(Constants<typename V::value_type>::exp_max)));
}

// e^x - 1 = 2(2^(n-1) q + (2^(n-1) - ½)), 1.7 ULP in f32, 2.4 in f64. Below -50 the result is -1. -0 gives 0.
template <class V>
inline V expm1(V x) noexcept {
  using C = Constants<typename V::value_type>;
  const auto [n, q, biased] = reduce_exp(at_least(at_most(x, V(C::exp_max)), V(-50)));
  const V s = power_of_2(biased - V(1));
  return V(2) * simd::fma(s, q, s - V(0.5));
}

// ln x = k ln 2 + ln(1 + f), 1 + f in [√½, √2): with s = f/(2 + f), ln(1 + f) = f - f²/2 + s(f²/2 + s²L(s²)). 0.9 ULP.
// ±0 gives -inf, negative numbers give NaN.
template <class V>
inline V log(V x) noexcept {
  using C = Constants<typename V::value_type>;
  // Subnormal numbers are first multiplied by 2 to the power of the mantissa's width.
  const auto tiny = x < V(C::min_normal);
  const Bits<V> one = to_bits(V(1)), root_half = to_bits(V(C::root_half));
  const Bits<V> bits = to_bits(simd::select(tiny, x * V(C::two_to_mantissa), x)) + (one - root_half);
  const Bits<V> mantissa_mask = to_bits(V(C::min_normal)) - 1;
  // The biased exponent e as a number: the low bits of 2^mantissa + e.
  const V e = from_bits<V>((bits >> C::mantissa) | to_bits(V(C::two_to_mantissa))) - V(C::two_to_mantissa);
  const V k = e - simd::select(tiny, V(C::bias + C::mantissa), V(C::bias));
  const V f = from_bits<V>((bits & mantissa_mask) + root_half) - V(1);
  const V s = simd::quotient(f, f + V(2)), z = s * s, half_square = V(0.5) * f * f;
  const V rest = simd::fma(s, simd::fma(z, polynomial(z, C::log), half_square), k * V(C::ln2_lo));
  const V y = simd::fma(k, V(C::ln2_hi), f - (half_square - rest));
  const V inf(C::infinity);
  const V finite = simd::select(x == V(0), -inf, simd::select(x < inf, y, x));
  return simd::select(x < V(0), V(C::nan), finite);
}

// The magnitude of x with the sign of s.
template <class V>
inline V copy_sign(V x, V s) noexcept {
  const Bits<V> sign = to_bits(V(-0.0));
  return from_bits<V>((to_bits(x) & ~sign) | (to_bits(s) & sign));
}

// tanh x, 2 ULP in f32, 2.4 in f64: t = E/(E + 2), E = e^2|x| - 1 = 2^n q + (2^n - 1). From |x| = 20 on the result is
// 1. For E < 1, t is computed as E/2 - (E/2)t, which avoids the rounding of E + 2.
template <class V>
inline V tanh(V x) noexcept {
  const V a = at_most(simd::abs(x), V(20));
  const auto [n, q, biased] = reduce_exp(a + a);
  const V s = power_of_2(biased), e = simd::fma(s, q, s - V(1));
  const V h = V(0.5) * e, t = simd::quotient(e, e + V(2));
  return copy_sign(simd::select(e < V(1), simd::fnma(h, t, h), t), x);
}

// erf x = -(e^y - 1), y = ln(1 - erf |x|), 2 ULP.
inline simd::Vec<float> erf(simd::Vec<float> x) noexcept {
  using C = Constants<float>;
  using V = simd::Vec<float>;
  const V a = at_most(simd::abs(x), V(C::erf_max));
  const auto [n, q, biased] = reduce_exp(simd::fnma(a, polynomial(a, C::erf), -a));
  const V s = power_of_2(biased);
  return copy_sign(simd::fnma(s, q, V(1) - s), x);
}

// erf x, 2.7 ULP: x + xP(x²) near 0, else 1 - e^Q(|x|).
inline simd::Vec<double> erf(simd::Vec<double> x) noexcept {
  using C = Constants<double>;
  using V = simd::Vec<double>;
  const V a = at_most(simd::abs(x), V(C::erf_max));
  const V small = simd::fma(a, polynomial(a * a, C::erf_small), a);
  const auto [n, q, biased] = reduce_exp(polynomial(a, C::erf_large));
  const V large = simd::fnma(power_of_2(biased), V(1) + q, V(1));
  return copy_sign(simd::select(a < V(C::erf_split), small, large), x);
}

// 1/(1 + e^-x), 1.9 ULP: 1 - t for x > 0, otherwise z - zt, with z = e^-|x|, t = z/(1 + z).
template <class V>
inline V sigmoid(V x) noexcept {
  const V z = exp_bounded(-simd::abs(x));
  const V w = simd::select(x > V(0), V(1), z);
  return simd::fnma(w, simd::quotient(z, V(1) + z), w);
}

// Φ(x) = ½(1 + erf(x/√2)), and the derivative of xΦ(x), which is Φ(x) + xφ(x) with φ(x) = e^(-x²/2)/√(2π). In f32 both
// are first computed for -|x|. For positive x the result is 1 minus this value.
inline simd::Vec<float> normal_cdf(simd::Vec<float> x) noexcept {
  using V = simd::Vec<float>;
  const V a = at_most(simd::abs(x), V(Constants<float>::normal_max));
  const V tail = exp_flushed(polynomial(a, Constants<float>::normal_tail));
  return simd::select(x > V(0), V(1) - tail, tail);
}
inline simd::Vec<double> normal_cdf(simd::Vec<double> x) noexcept {
  using V = simd::Vec<double>;
  return simd::fma(V(0.5), math::erf(x * V(0.70710678118654752440)), V(0.5));
}
inline simd::Vec<float> gelu_derivative(simd::Vec<float> x) noexcept {
  using C = Constants<float>;
  using V = simd::Vec<float>;
  const V slope = polynomial(at_most(simd::abs(x), V(C::gelu_max)), C::gelu_slope);
  const V tail = exp_flushed(V(-0.5) * x * x) * slope;
  return simd::select(x > V(0), V(1) - tail, tail);
}
inline simd::Vec<double> gelu_derivative(simd::Vec<double> x) noexcept {
  using V = simd::Vec<double>;
  const V a = at_most(at_least(x, V(-40)), V(40));  // where the result is already 0 or 1
  const V density = V(0.39894228040143267794) * exp_flushed(V(-0.5) * a * a);
  return simd::fma(a, density, normal_cdf(a));
}

}  // namespace weft::detail::WEFT_ISA::math
