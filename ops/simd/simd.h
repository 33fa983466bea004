// Loads, stores, arithmetic and permutations of vectors, for every instruction set.
#pragma once
#include <cstdint>
#include <utility>

#include "simd/batch.h"
#include "simd/computed.h"
#include "simd/unroll.h"

namespace weft::detail::WEFT_ISA::simd {

// A vector for computing with elements stored as T. The compiler can't deduce T from a parameter of this type. Where T
// must be deduced from the vector, the parameter is a Batch<T>.
template <class T>
using Vec = Batch<Computed<T>>;
static_assert(sizeof(Vec<float>) == WEFT_VECTOR_BYTES);

template <class T>
inline constexpr std::int64_t lanes = static_cast<std::int64_t>(Vec<T>::size);

template <class T>
inline Batch<T> load(const T* p) noexcept {
  return Batch<T>::load_unaligned(p);
}

template <class T>
inline void store(T* p, Batch<T> v) noexcept {
  v.store_unaligned(p);
}

// a / b and √x, correctly rounded. On NEON, xsimd's own functions are approximations, and its √∞ is NaN.
template <class T>
inline Batch<T> quotient(Batch<T> a, Batch<T> b) noexcept {
  using Register = typename Batch<T>::register_type;
  return Batch<T>(static_cast<Register>(a) / static_cast<Register>(b));
}

template <class T>
inline Batch<T> square_root(Batch<T> x) noexcept {
#if WEFT_HAS_NEON
  if constexpr (sizeof(T) == 4) return Batch<T>(vsqrtq_f32(x));
#endif
  return sqrt(x);
}

// Reads a single element in the type for computing.
template <class T>
inline T get(const T* p) noexcept {
  return *p;
}

template <class T>
inline void put(T* p, T x) noexcept {
  *p = x;
}

#if WEFT_HAS_MASKS
template <class Mask>
inline Mask first_lanes(std::int64_t n) noexcept {
  return static_cast<Mask>((1u << n) - 1);
}
#elif WEFT_HAS_AVX2
// Masks with all bits set in the first n lanes, of 32 and of 64 bits.
inline __m256i first_words(std::int64_t n) noexcept {
  return _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(n)), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}
inline __m256i first_longs(std::int64_t n) noexcept {
  return _mm256_cmpgt_epi64(_mm256_set1_epi64x(n), _mm256_setr_epi64x(0, 1, 2, 3));
}
#endif

// Loads the first n < lanes elements of p. The other lanes are `fill`.
template <class T>
inline Batch<T> load_n(const T* p, std::int64_t n, T fill = T(0)) noexcept {
#if WEFT_HAS_MASKS
  if constexpr (sizeof(T) == 4) {
    return _mm512_mask_loadu_ps(_mm512_set1_ps(fill), first_lanes<__mmask16>(n), p);
  } else if constexpr (sizeof(T) == 8) {
    return _mm512_mask_loadu_pd(_mm512_set1_pd(fill), first_lanes<__mmask8>(n), p);
  } else
#elif WEFT_HAS_AVX2
  if constexpr (sizeof(T) == 4) {
    const __m256i there = first_words(n);
    return _mm256_blendv_ps(_mm256_set1_ps(fill), _mm256_maskload_ps(p, there), _mm256_castsi256_ps(there));
  } else if constexpr (sizeof(T) == 8) {
    const __m256i there = first_longs(n);
    return _mm256_blendv_pd(_mm256_set1_pd(fill), _mm256_maskload_pd(p, there), _mm256_castsi256_pd(there));
  } else
#endif
  {
    T buffer[lanes<T>];
    for (std::int64_t i = 0; i < lanes<T>; ++i) buffer[i] = i < n ? p[i] : fill;
    return load(buffer);
  }
}

template <class T>
inline void store_n(T* p, Batch<T> v, std::int64_t n) noexcept {
#if WEFT_HAS_MASKS
  if constexpr (sizeof(T) == 4) {
    _mm512_mask_storeu_ps(p, first_lanes<__mmask16>(n), v);
  } else if constexpr (sizeof(T) == 8) {
    _mm512_mask_storeu_pd(p, first_lanes<__mmask8>(n), v);
  } else
#elif WEFT_HAS_AVX2
  // Stores the vector in halves, because on AMD one vmaskmovps to memory takes as long as twenty stores.
  if constexpr (sizeof(T) == 4) {
    __m128 part = _mm256_castps256_ps128(v);
    if (n & 4) {
      _mm_storeu_ps(p, part);
      part = _mm256_extractf128_ps(v, 1);
      p += 4;
    }
    if (n & 2) {
      _mm_storel_pi(reinterpret_cast<__m64*>(p), part);
      part = _mm_movehl_ps(part, part);
      p += 2;
    }
    if (n & 1) _mm_store_ss(p, part);
  } else if constexpr (sizeof(T) == 8) {
    __m128d part = _mm256_castpd256_pd128(v);
    if (n & 2) {
      _mm_storeu_pd(p, part);
      part = _mm256_extractf128_pd(v, 1);
      p += 2;
    }
    if (n & 1) _mm_store_sd(p, part);
  } else
#endif
  {
    T buffer[lanes<T>];
    store(buffer, v);
    for (std::int64_t i = 0; i < n; ++i) p[i] = buffer[i];
  }
}

// The same functions for bfloat16. Loads widen to float. Stores round like the class bfloat16, with integer operations,
// because the conversion of AVX512-BF16 treats denormals as 0.
using Words = std::uint32_t __attribute__((vector_size(WEFT_VECTOR_BYTES)));
using Halves = std::uint16_t __attribute__((vector_size(WEFT_VECTOR_BYTES / 2)));

#if WEFT_HAS_AVX512
inline Words widened(Halves x) noexcept {
  return reinterpret_cast<Words>(_mm512_cvtepu16_epi32(reinterpret_cast<__m256i>(x)));
}
inline Halves narrowed(Words x) noexcept {
  return reinterpret_cast<Halves>(_mm512_cvtepi32_epi16(reinterpret_cast<__m512i>(x)));
}
#else
inline Words widened(Halves x) noexcept { return __builtin_convertvector(x, Words); }
inline Halves narrowed(Words x) noexcept { return __builtin_convertvector(x, Halves); }
#endif

inline Vec<float> load(const bfloat16* p) noexcept {
  Halves x;
  __builtin_memcpy(&x, p, sizeof x);
  return Vec<float>(reinterpret_cast<Vec<float>::register_type>(widened(x) << 16));
}

inline void store(bfloat16* p, Vec<float> v) noexcept {
  const auto x = static_cast<Vec<float>::register_type>(v);
  const auto u = reinterpret_cast<Words>(x);
  const Words nearest = u + 0x7fff + (u >> 16 & 1), quiet = u | 0x400000;
  const Halves y = narrowed((x != x ? quiet : nearest) >> 16);
  __builtin_memcpy(p, &y, sizeof y);
}

inline float get(const bfloat16* p) noexcept {
  const std::uint32_t u = static_cast<std::uint32_t>(p->bits) << 16;
  float x;
  __builtin_memcpy(&x, &u, sizeof x);
  return x;
}

inline void put(bfloat16* p, float x) noexcept {
  std::uint32_t u;
  __builtin_memcpy(&u, &x, sizeof u);
  const std::uint32_t nearest = u + 0x7fff + (u >> 16 & 1), quiet = u | 0x400000;
  p->bits = static_cast<std::uint16_t>(((u & 0x7fffffff) > 0x7f800000 ? quiet : nearest) >> 16);
}

inline Vec<float> load_n(const bfloat16* p, std::int64_t n, float fill = 0) noexcept {
  float buffer[lanes<float>];
  for (std::int64_t i = 0; i < lanes<float>; ++i) buffer[i] = i < n ? get(p + i) : fill;
  return load(buffer);
}

inline void store_n(bfloat16* p, Vec<float> v, std::int64_t n) noexcept {
  bfloat16 buffer[lanes<float>];
  store(buffer, v);
  for (std::int64_t i = 0; i < n; ++i) p[i] = buffer[i];
}

// fma(a, b, c) = a*b + c and fnma(a, b, c) = c - a*b, rounded once if the instruction set supports it. They use the
// intrinsics, because xsimd's AVX-512 fma is x*y+z, which clang compiles to mul and add. Only the instruction set
// determines the rounding, not other options of the compiler (such as -march in a user's flags).
#if WEFT_HAS_FMA && WEFT_HAS_AVX2
namespace intrinsic {
inline __m128 fma(__m128 a, __m128 b, __m128 c) noexcept { return _mm_fmadd_ps(a, b, c); }
inline __m128d fma(__m128d a, __m128d b, __m128d c) noexcept { return _mm_fmadd_pd(a, b, c); }
inline __m128 fnma(__m128 a, __m128 b, __m128 c) noexcept { return _mm_fnmadd_ps(a, b, c); }
inline __m128d fnma(__m128d a, __m128d b, __m128d c) noexcept { return _mm_fnmadd_pd(a, b, c); }
inline __m256 fma(__m256 a, __m256 b, __m256 c) noexcept { return _mm256_fmadd_ps(a, b, c); }
inline __m256d fma(__m256d a, __m256d b, __m256d c) noexcept { return _mm256_fmadd_pd(a, b, c); }
inline __m256 fnma(__m256 a, __m256 b, __m256 c) noexcept { return _mm256_fnmadd_ps(a, b, c); }
inline __m256d fnma(__m256d a, __m256d b, __m256d c) noexcept { return _mm256_fnmadd_pd(a, b, c); }
#if WEFT_HAS_AVX512
inline __m512 fma(__m512 a, __m512 b, __m512 c) noexcept { return _mm512_fmadd_ps(a, b, c); }
inline __m512d fma(__m512d a, __m512d b, __m512d c) noexcept { return _mm512_fmadd_pd(a, b, c); }
inline __m512 fnma(__m512 a, __m512 b, __m512 c) noexcept { return _mm512_fnmadd_ps(a, b, c); }
inline __m512d fnma(__m512d a, __m512d b, __m512d c) noexcept { return _mm512_fnmadd_pd(a, b, c); }
#endif
}  // namespace intrinsic
template <class V>
inline V fma(V a, V b, V c) noexcept {
  return intrinsic::fma(a, b, c);
}
template <class V>
inline V fnma(V a, V b, V c) noexcept {
  return intrinsic::fnma(a, b, c);
}
#elif WEFT_HAS_FMA && WEFT_HAS_NEON
inline Vec<float> fma(Vec<float> a, Vec<float> b, Vec<float> c) noexcept { return vfmaq_f32(c, a, b); }
inline Vec<double> fma(Vec<double> a, Vec<double> b, Vec<double> c) noexcept { return vfmaq_f64(c, a, b); }
inline Vec<float> fnma(Vec<float> a, Vec<float> b, Vec<float> c) noexcept { return vfmsq_f32(c, a, b); }
inline Vec<double> fnma(Vec<double> a, Vec<double> b, Vec<double> c) noexcept { return vfmsq_f64(c, a, b); }
#elif WEFT_HAS_FMA
#error "the intrinsics of fused multiply-adds are needed"
#else
template <class V>
inline V fma(V a, V b, V c) noexcept {
  return a * b + c;
}
template <class V>
inline V fnma(V a, V b, V c) noexcept {
  return c - a * b;
}
#endif

// Selects lanes of a and b, numbered from 0 to 2 · lanes - 1: lane i of the result is lane number Order::at(i).
template <class T, class Order, int... I>
inline Batch<T> shuffled(Batch<T> a, Batch<T> b, std::integer_sequence<int, I...>) noexcept {
  using Register = typename Batch<T>::register_type;
  return Batch<T>(static_cast<Register>(
      __builtin_shufflevector(static_cast<Register>(a), static_cast<Register>(b), Order::at(I)...)));
}
template <class Order, class T>
inline Batch<T> shuffled(Batch<T> a, Batch<T> b) noexcept {
  return shuffled<T, Order>(a, b, std::make_integer_sequence<int, static_cast<int>(lanes<T>)>());
}

template <int L>
struct EvenLanes {
  static constexpr int at(int i) { return 2 * i; }
};
template <int L>
struct OddLanes {
  static constexpr int at(int i) { return 2 * i + 1; }
};
template <int L>
struct LowZip {
  static constexpr int at(int i) { return i / 2 + i % 2 * L; }
};
template <int L>
struct HighZip {
  static constexpr int at(int i) { return L / 2 + i / 2 + i % 2 * L; }
};
template <int L>
struct Reversed {
  static constexpr int at(int i) { return L - 1 - i; }
};

// a0 a2 … b0 b2 …,  a1 a3 … b1 b3 …
template <class T>
inline Batch<T> even(Batch<T> a, Batch<T> b) noexcept {
  return shuffled<EvenLanes<lanes<T>>>(a, b);
}
template <class T>
inline Batch<T> odd(Batch<T> a, Batch<T> b) noexcept {
  return shuffled<OddLanes<lanes<T>>>(a, b);
}
// a0 b0 a1 b1 …, for the lower halves and for the upper halves of a and b
template <class T>
inline Batch<T> zip_lo(Batch<T> a, Batch<T> b) noexcept {
  return shuffled<LowZip<lanes<T>>>(a, b);
}
template <class T>
inline Batch<T> zip_hi(Batch<T> a, Batch<T> b) noexcept {
  return shuffled<HighZip<lanes<T>>>(a, b);
}
template <class T>
inline Batch<T> reversed(Batch<T> a) noexcept {
  return shuffled<Reversed<lanes<T>>>(a, a);
}

// Both orders work on blocks of 16 bytes with E elements each. BlockZip takes groups of G elements alternately from the
// lower (or upper) halves of two blocks. EveryOtherBlock takes the even (or odd) blocks. Both compile to one-cycle
// instructions that need no registers for permutations.
template <int L, int E, int G, int High>
struct BlockZip {
  static constexpr int at(int i) {
    const int unit = i % E / G;
    return i / E * E + High * E / 2 + unit / 2 * G + i % G + unit % 2 * L;
  }
};
template <int L, int E, int Odd>
struct EveryOtherBlock {
  static constexpr int at(int i) { return (2 * (i / E) + Odd) * E + i % E; }
};

// Transposes a square of lanes × lanes elements. Lane j of v[i] becomes lane i of v[j]. First transposes the squares
// within blocks, then the blocks.
template <class T>
WEFT_INLINE inline void transpose(Batch<T>* v) noexcept {
  constexpr int L = static_cast<int>(lanes<T>), E = 16 / static_cast<int>(sizeof(T));
  repeat<__builtin_ctz(L)>([&](auto stage) WEFT_INLINE {
    constexpr int apart = 1 << decltype(stage)::value;
    repeat<L>([&](auto i) WEFT_INLINE {
      constexpr int a = decltype(i)::value, b = a + apart;
      if constexpr ((a & apart) == 0) {
        const Vec<T> x = v[a], y = v[b];
        if constexpr (apart < E) {
          v[a] = shuffled<BlockZip<L, E, apart, 0>>(x, y);
          v[b] = shuffled<BlockZip<L, E, apart, 1>>(x, y);
        } else {
          v[a] = shuffled<EveryOtherBlock<L, E, 0>>(x, y);
          v[b] = shuffled<EveryOtherBlock<L, E, 1>>(x, y);
        }
      }
    });
  });
  if constexpr (E == 4)  // the columns of the squares are in bit-reversed order
    repeat<L / 4>([&](auto i) WEFT_INLINE {
      const Vec<T> second = v[4 * i.value + 1];
      v[4 * i.value + 1] = v[4 * i.value + 2];
      v[4 * i.value + 2] = second;
    });
}

// The sum of the lanes, computed by adding halves to halves. The order depends only on the instruction set.
template <int L, int Step>
struct Rotated {
  static constexpr int at(int i) { return (i + Step) % L; }
};
template <class T, int Width = static_cast<int>(lanes<T>) / 2>
inline T sum(Batch<T> v) noexcept {
  if constexpr (Width > 0) {
    return sum<T, Width / 2>(v + shuffled<Rotated<static_cast<int>(lanes<T>), Width>>(v, v));
  } else {
    T a[lanes<T>];
    store(a, v);
    return a[0];
  }
}

template <class T>
inline T max(Batch<T> v) noexcept {
  T a[lanes<T>];
  store(a, v);
  for (std::int64_t i = 1; i < lanes<T>; ++i) a[0] = a[i] > a[0] || a[i] != a[i] ? a[i] : a[0];
  return a[0];
}

// Computes y[i] = f(x0[i], x1[i], …) for i < n, one vector at a time. The tail is computed on a padded copy, so that no
// element's value depends on its position.
template <class T, class F, class... X>
inline void map(F f, T* y, std::int64_t n, const X*... x) noexcept {
  std::int64_t i = 0;
  for (; i + lanes<T> <= n; i += lanes<T>) store(y + i, f(load(x + i)...));
  if (i < n) store_n(y + i, f(load_n(x + i, n - i)...), n - i);
}

}  // namespace weft::detail::WEFT_ISA::simd
