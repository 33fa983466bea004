// Units of k (kernels/gemm.h): vectors of units and their products. A vector of bf16 pairs is moved as floats, but the
// floats are never used in arithmetic.
#pragma once
#include <type_traits>

#include "dense/kernels/gemm.h"
#include "dense/kernels/gemm_blocks.h"
#include "simd/registers.h"
#include "weft/detail/byte_order.h"

namespace weft::detail::WEFT_ISA {

template <class T>
inline constexpr bool is_pairs = unit<T> == 2;

WEFT_INLINE inline simd::Words bits_of(Vec<float> x) noexcept {
  return reinterpret_cast<simd::Words>(static_cast<Vec<float>::register_type>(x));
}
WEFT_INLINE inline Vec<float> of_bits(simd::Words x) noexcept {
  return Vec<float>(reinterpret_cast<Vec<float>::register_type>(x));
}

// Loads a vector of adjacent units, starting at p.
template <class T>
WEFT_INLINE inline Vec<T> load_units(const T* p) noexcept {
  if constexpr (is_pairs<T>) {
    simd::Words x;
    __builtin_memcpy(&x, p, sizeof x);
    return of_bits(x);
  } else {
    return simd::load(p);
  }
}

template <class T>
WEFT_INLINE inline void store_units(T* p, Vec<T> v) noexcept {
  if constexpr (is_pairs<T>) {
    const simd::Words x = bits_of(v);
    __builtin_memcpy(p, &x, sizeof x);
  } else {
    simd::store(p, v);
  }
}

// Writes the first n units of v, or all units of v if it has no more than n.
template <class T>
WEFT_INLINE inline void write_units(T* p, Vec<T> v, std::int64_t n) noexcept {
  if constexpr (is_pairs<T>) {
    if (n >= simd::lanes<T>) return store_units(p, v);
#if WEFT_HAS_MASKS
    _mm512_mask_storeu_epi32(p, simd::first_lanes<__mmask16>(n), _mm512_castps_si512(v));
    return;
#endif
    T buffer[2 * simd::lanes<T>];
    store_units(buffer, v);
    for (std::int64_t i = 0; i < 2 * n; ++i) p[i] = buffer[i];
  } else {
    write(p, v, n);
  }
}

// Reads the units of the first n elements of p, padded with zeros, or a whole vector if there are more.
template <class T>
WEFT_INLINE inline Vec<T> read_units(const T* p, std::int64_t n) noexcept {
  if constexpr (is_pairs<T>) {
    constexpr std::int64_t all = 2 * simd::lanes<T>;
    if (n >= all) return load_units(p);
#if WEFT_HAS_MASKS
    return _mm512_castsi512_ps(_mm512_maskz_loadu_epi16(simd::first_lanes<__mmask32>(n), p));
#endif
    T buffer[all];
    for (std::int64_t i = 0; i < all; ++i) buffer[i].bits = i < n ? p[i].bits : std::uint16_t{0};
    return load_units(buffer);
  } else {
    return read(p, n);
  }
}

#if WEFT_HAS_AVX512
// Reads half a vector of adjacent units from p, and another one from q. Of each, the first n elements exist, or a whole
// half if there are more.
template <class T>
WEFT_INLINE inline Vec<T> read_halves(const T* p, const T* q, std::int64_t n) noexcept {
  constexpr std::int64_t all = unit<T> * simd::lanes<T> / 2;
  T buffer[2 * all];
  if (n < all) {
    for (std::int64_t i = 0; i < all; ++i) {
      buffer[i] = i < n ? p[i] : T{};
      buffer[all + i] = i < n ? q[i] : T{};
    }
    p = buffer;
    q = buffer + all;
  }
  __m256i low, high;
  __builtin_memcpy(&low, p, sizeof low);
  __builtin_memcpy(&high, q, sizeof high);
  const __m512i both = _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1);
  return reinterpret_cast<typename Vec<T>::register_type>(both);
}
#endif

// Reads the first n elements of p, or a whole vector if there are more. The bits of each element are in a 32-bit word.
WEFT_INLINE inline simd::Words read_words(const bfloat16* p, std::int64_t n) noexcept {
#if WEFT_HAS_MASKS
  if (n < simd::lanes<bfloat16>) {
    const __m512i some = _mm512_maskz_loadu_epi16(simd::first_lanes<__mmask32>(n), p);
    return reinterpret_cast<simd::Words>(_mm512_cvtepu16_epi32(_mm512_castsi512_si256(some)));
  }
#endif
  return bits_of(read(p, n)) >> 16;
}

// The distances in bits from the lower end of a unit of two elements in memory to its first and its second element.
constexpr int first_shift = has_byte_order_of_files ? 0 : 16, second_shift = 16 - first_shift;

// Reads the units of n columns in contiguous rows, starting at row p. Only `count` rows exist.
template <class T>
WEFT_INLINE inline Vec<T> read_rows(const T* p, std::int64_t row, std::int64_t count, std::int64_t n) noexcept {
  if constexpr (is_pairs<T>) {
    const simd::Words first = read_words(p, n) << first_shift;
    return of_bits(count == 1 ? first : first | read_words(p + row, n) << second_shift);
  } else {
    return read(p, n);
  }
}

// Returns the unit at p in all lanes.
template <class T>
WEFT_INLINE inline Vec<T> broadcast_unit(const T* p) noexcept {
  Computed<T> x;
  __builtin_memcpy(&x, p, sizeof x);
  return Vec<T>(x);
}

// Does the same as broadcast_unit for a unit that has only one element.
template <class T>
WEFT_INLINE inline Vec<T> broadcast_last(const T* p) noexcept {
  if constexpr (is_pairs<T>) return of_bits(simd::Words{} + (std::uint32_t{p->bits} << first_shift));
  else return broadcast_unit(p);
}

// Copies one unit times sign, which is ±1. The unit has `count` existing elements at distances of `step`.
template <class T>
WEFT_INLINE inline void copy_unit(const T* p, std::int64_t step, std::int64_t count, Computed<T> sign,
                                  T* out) noexcept {
  if constexpr (is_pairs<T>) {
    const std::uint16_t flip = sign < 0 ? 0x8000 : 0;
    out[0].bits = count > 0 ? static_cast<std::uint16_t>(p[0].bits ^ flip) : std::uint16_t{0};
    out[1].bits = count > 1 ? static_cast<std::uint16_t>(p[step].bits ^ flip) : std::uint16_t{0};
  } else {
    *out = count > 0 ? sign * *p : T(0);
  }
}

// Multiplies units by ±1.
template <class T>
struct Sign {
  Vec<T> factor;
  explicit Sign(T sign) noexcept : factor(sign) {}
  Vec<T> operator*(Vec<T> x) const noexcept { return factor * x; }
};
template <>
struct Sign<bfloat16> {
  simd::Words flip;
  explicit Sign(float sign) noexcept : flip(simd::Words{} + (sign < 0 ? 0x80008000u : 0u)) {}
  Vec<float> operator*(Vec<float> x) const noexcept { return of_bits(bits_of(x) ^ flip); }
};

// The number of products for a unit: one for each element, or one for each pair if the instruction set multiplies
// pairs.
template <class T>
inline constexpr int products_of_unit = WEFT_HAS_PAIR_PRODUCTS ? 1 : static_cast<int>(unit<T>);

// Returns element number `Part` of each unit, in the format that multiply_add_elements takes. The elements are widened
// in place, because a bf16 is the upper half of an f32.
template <int Part, class T>
WEFT_INLINE inline Vec<T> element(Vec<T> x) noexcept {
  if constexpr (products_of_unit<T> == 1) return x;
  else return of_bits((Part == 0 ? first_shift : second_shift) == 0 ? bits_of(x) << 16 : bits_of(x) & 0xffff0000);
}

#if WEFT_HAS_PAIR_PRODUCTS && WEFT_HAS_NEON
WEFT_INLINE inline bfloat16x8_t pairs(Vec<float> x) noexcept { return vreinterpretq_bf16_f32(x); }
#endif

template <class T>
WEFT_INLINE inline Vec<T> multiply_add_elements(Vec<T> x, Vec<T> y, Vec<T> sum) noexcept {
#if WEFT_HAS_PAIR_PRODUCTS && WEFT_HAS_NEON
  if constexpr (is_pairs<T>) return vbfdotq_f32(sum, pairs(x), pairs(y));
#elif WEFT_HAS_PAIR_PRODUCTS
  if constexpr (is_pairs<T>)
    return _mm512_dpbf16_ps(sum, reinterpret_cast<__m512bh>(static_cast<__m512>(x)),
                            reinterpret_cast<__m512bh>(static_cast<__m512>(y)));
#endif
  return simd::fma(x, y, sum);
}

#if WEFT_HAS_LANE_PRODUCTS
// Does the same as multiply_add_elements with lane I of x.
template <class T, int I>
WEFT_INLINE inline Vec<T> multiply_add_lane(Vec<T> x, Vec<T> y, Vec<T> sum) noexcept {
#if WEFT_HAS_PAIR_PRODUCTS
  if constexpr (is_pairs<T>) return simd::pairs_lane<I>(x, y, sum);
#endif
  return simd::fma_lane<I>(x, y, sum);
}
#endif

// Returns sum + x y. For a pair: sum + x₀ y₀ + x₁ y₁, in this order.
template <class T>
WEFT_INLINE inline Vec<T> multiply_add(Vec<T> x, Vec<T> y, Vec<T> sum) noexcept {
  repeat<products_of_unit<T>>([&](auto part) WEFT_INLINE {
    sum = multiply_add_elements<T>(element<part.value, T>(x), element<part.value, T>(y), sum);
  });
  return sum;
}

}  // namespace weft::detail::WEFT_ISA
