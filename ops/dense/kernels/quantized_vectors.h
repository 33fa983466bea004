// Vectors of whole numbers for the kernels of products with quantized weights.
#pragma once
#include <cstdint>

#include "simd/simd.h"
#include "simd/unroll.h"

namespace weft::detail::WEFT_ISA {
namespace {

using simd::Vec;
using Ints = std::int32_t __attribute__((vector_size(WEFT_VECTOR_BYTES)));
using Words = std::uint32_t __attribute__((vector_size(WEFT_VECTOR_BYTES)));
using Floats = float __attribute__((vector_size(WEFT_VECTOR_BYTES)));
using Shorts = std::int16_t __attribute__((vector_size(WEFT_VECTOR_BYTES)));

constexpr std::int64_t float_lanes = simd::lanes<float>;

template <class V>
WEFT_INLINE inline V load_bits(const void* p) noexcept {
  V v;
  __builtin_memcpy(&v, p, sizeof v);
  return v;
}

template <class V>
WEFT_INLINE inline void store_bits(void* p, V v) noexcept {
  __builtin_memcpy(p, &v, sizeof v);
}

WEFT_INLINE inline Ints nearest(Floats x) noexcept {
#if WEFT_HAS_AVX512
  return reinterpret_cast<Ints>(_mm512_cvtps_epi32(x));
#elif WEFT_HAS_AVX2
  return reinterpret_cast<Ints>(_mm256_cvtps_epi32(x));
#elif WEFT_HAS_SSE2
  return reinterpret_cast<Ints>(_mm_cvtps_epi32(x));
#elif WEFT_HAS_NEON
  return vcvtnq_s32_f32(x);
#else
  // For |x| < 2^22, the sum rounds x to the nearest whole number, ties to even, and holds it in its low bits.
  return reinterpret_cast<Ints>(x + 0x1.8p23f) - reinterpret_cast<Ints>(Floats{} + 0x1.8p23f);
#endif
}

// Returns x · first · second, rounded.
WEFT_INLINE inline Ints rounded(Vec<float> x, float first, float second) noexcept {
  return nearest(static_cast<Vec<float>::register_type>(x * Vec<float>(first) * Vec<float>(second)));
}

WEFT_INLINE inline Vec<float> floats(Ints x) noexcept {
  return Vec<float>(static_cast<Vec<float>::register_type>(__builtin_convertvector(x, Floats)));
}

// Stores the low byte of each number.
WEFT_INLINE inline void store_bytes(std::int8_t* p, Ints x) noexcept {
#if WEFT_HAS_NEON
  const int16x4_t half = vmovn_s32(x);
  store_bits(p, vget_lane_s32(vreinterpret_s32_s8(vmovn_s16(vcombine_s16(half, half))), 0));
#elif WEFT_HAS_AVX512
  store_bits(p, _mm512_cvtepi32_epi8(reinterpret_cast<__m512i>(x)));
#else
  using Bytes = std::int8_t __attribute__((vector_size(float_lanes)));
  store_bits(p, __builtin_convertvector(x, Bytes));
#endif
}

// Calls f(digit, values) for each digit of whole numbers: x = 256 d_0 + d_1, or x = d_0 for one digit. All digits are
// in -128 … 127 if x is not too large.
template <int Digits, class F>
WEFT_INLINE inline void for_digits(Ints x, const F& f) noexcept {
  repeat<Digits>([&](auto d) WEFT_INLINE {
    const Ints low = x << 24 >> 24;
    x = (x - low) >> 8;
    f(Digits - 1 - d.value, low);
  });
}

}  // namespace
}  // namespace weft::detail::WEFT_ISA
