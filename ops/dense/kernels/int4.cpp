#include "dense/kernels/int4.h"

#include "dense/kernels/gemm.h"
#include "dense/kernels/quantized_vectors.h"
#include "simd/registers.h"
#include "weft/detail/byte_order.h"

namespace weft::detail::WEFT_ISA {
namespace {

constexpr std::int64_t nv = 2, nr = nv * float_lanes, unit = 4, half_units = int4_group / unit / 2;
// The registers hold mr · nv sums of whole numbers, two units of nv vectors of W, and two vectors of x. The compiler
// keeps some of the sums over all groups, which change once per group, on the stack.
constexpr int mr = WEFT_HAS_AVX512 ? 12 : WEFT_HAS_NEON ? 8 : 4;
static_assert(mr % 2 == 0, "whole rows of x");
static_assert(mr * nr <= largest_tile);

// The sums of products of a group, for `lanes` columns. Without byte products, there are two sums of 16 bits for each
// column. Each of them has 16 products of at most 15 · 128, so it doesn't overflow.
using Sums = std::conditional_t<WEFT_HAS_BYTE_PRODUCTS, Words, Shorts>;
static_assert(16 * 15 * 128 < 1 << 15);

// Returns sum + the products of the unit x with units w. The bytes of w are in 0 … 15.
WEFT_INLINE inline Sums multiply_add(Words w, Words x, Sums sum) noexcept {
#if WEFT_HAS_BYTE_PRODUCTS && WEFT_HAS_NEON
  return reinterpret_cast<Sums>(
      vdotq_s32(reinterpret_cast<int32x4_t>(sum), reinterpret_cast<int8x16_t>(w), reinterpret_cast<int8x16_t>(x)));
#elif WEFT_HAS_BYTE_PRODUCTS
  return reinterpret_cast<Sums>(
      _mm512_dpbusd_epi32(reinterpret_cast<__m512i>(sum), reinterpret_cast<__m512i>(w), reinterpret_cast<__m512i>(x)));
#elif WEFT_HAS_AVX512
  return sum + reinterpret_cast<Sums>(_mm512_maddubs_epi16(reinterpret_cast<__m512i>(w), reinterpret_cast<__m512i>(x)));
#elif WEFT_HAS_AVX2
  return sum + reinterpret_cast<Sums>(_mm256_maddubs_epi16(reinterpret_cast<__m256i>(w), reinterpret_cast<__m256i>(x)));
#else
  const Shorts ws = reinterpret_cast<Shorts>(w), xs = reinterpret_cast<Shorts>(x);
  return sum + (ws & 0xff) * (xs << 8 >> 8) + (ws >> 8) * (xs >> 8);
#endif
}

// Returns the sum of each column.
WEFT_INLINE inline Words total(Sums sums) noexcept {
#if WEFT_HAS_BYTE_PRODUCTS
  return sums;
#elif WEFT_HAS_AVX512
  return reinterpret_cast<Words>(_mm512_madd_epi16(reinterpret_cast<__m512i>(sums), _mm512_set1_epi16(1)));
#elif WEFT_HAS_AVX2
  return reinterpret_cast<Words>(_mm256_madd_epi16(reinterpret_cast<__m256i>(sums), _mm256_set1_epi16(1)));
#elif WEFT_HAS_SSE2
  return reinterpret_cast<Words>(_mm_madd_epi16(reinterpret_cast<__m128i>(sums), _mm_set1_epi16(1)));
#else
  const Ints pairs = reinterpret_cast<Ints>(sums);
  return reinterpret_cast<Words>((pairs << 16 >> 16) + (pairs >> 16));
#endif
}

WEFT_INLINE inline Words broadcast(const std::int8_t* p) noexcept { return Words{} + load_bits<std::uint32_t>(p); }

template <int Digits, class T>
void write_row(std::int64_t n, const T* x, float first, float second, std::int8_t* a, std::int64_t a_group,
               std::int32_t* corrections, std::int64_t correction_group) noexcept {
  for (std::int64_t begin = 0; begin < n; begin += int4_group, a += a_group, corrections += correction_group) {
    Words sums{};
    repeat<int4_group / float_lanes>([&](auto part) WEFT_INLINE {
      constexpr std::int64_t offset = part.value * float_lanes;
      const std::int64_t i = begin + offset, rest = n - i;
      const Ints whole = rounded(rest >= float_lanes ? simd::load(x + i)
                                 : rest > 0          ? simd::load_n(x + i, rest)
                                                     : Vec<float>(0),
                                 first, second);
      sums += reinterpret_cast<Words>(whole);
      for_digits<Digits>(
          whole, [&](int digit, Ints values) WEFT_INLINE { store_bytes(a + digit * int4_group + offset, values); });
    });
    std::uint32_t all = 0;
    for (std::int64_t l = 0; l < float_lanes; ++l) all += sums[l];
    *corrections = static_cast<std::int32_t>(-8 * all);
  }
}

template <class T>
void write_digits(std::int64_t n, const T* x, float first, float second, int digits, std::int8_t* a,
                  std::int64_t a_group, std::int32_t* corrections, std::int64_t correction_group) noexcept {
  if (digits == 1) write_row<1>(n, x, first, second, a, a_group, corrections, correction_group);
  else write_row<2>(n, x, first, second, a, a_group, corrections, correction_group);
}

// Multiplies a group of R rows of digits by a group of a panel.
template <int R>
WEFT_INLINE inline void multiply_group(const std::int8_t* a, const std::int8_t* panel, Sums (&sums)[R * nv]) noexcept {
  repeat<R * nv>([&](auto s) WEFT_INLINE { sums[s.value] = Sums{}; });
  repeat<half_units>([&](auto u) WEFT_INLINE {
    Words low[nv], high[nv];
    repeat<nv>([&](auto v) WEFT_INLINE {
      const Words both = load_bits<Words>(panel + int4_scale_bytes(nr) + (u.value * nv + v.value) * float_lanes * unit);
      low[v.value] = both & 0x0f0f0f0fu;
      high[v.value] = both >> 4 & 0x0f0f0f0fu;
    });
    repeat<R>([&](auto i) WEFT_INLINE {
      const std::int8_t* p = a + i.value * int4_group + u.value * unit;
      const Words x = broadcast(p), later = broadcast(p + half_units * unit);
      repeat<nv>([&](auto v) WEFT_INLINE {
        Sums& sum = sums[i.value * nv + v.value];
        sum = multiply_add(high[v.value], later, multiply_add(low[v.value], x, sum));
      });
    });
    // Without this line, the compiler adds the products of several units before it adds them to the sums, which needs
    // more registers than there are.
    repeat<R * nv>([&](auto s) WEFT_INLINE { simd::keep_in_register(sums[s.value]); });
  });
}

// The rows of a tile. This function is never inlined, so that all registers are available for the sums. Its steps:
//
//   y = 0
//   for each group:
//     multiply the group of each row of digits by the group of the panel, in whole numbers
//     combine the digits of each row of x, and add its correction
//     y += sums · scales of the group
//   y *= row scales
template <int Rows, int Digits>
[[gnu::noinline]] void part_of_tile(const Int4Tile& t) noexcept {
  Vec<float> y[Rows * nv];
  repeat<Rows * nv>([&](auto s) WEFT_INLINE { y[s.value] = Vec<float>(0); });
  const std::int8_t *a = t.a, *panel = t.panel;
  const std::int32_t* corrections = t.corrections;
  for (std::int64_t g = 0; g < t.groups; ++g) {
    Sums sums[Rows * Digits * nv];
    multiply_group<Rows * Digits>(a, panel, sums);
    const Words pairs = load_bits<Words>(panel);
    const Words first = has_byte_order_of_files ? pairs << 16 : pairs & 0xffff0000u;
    const Words second = has_byte_order_of_files ? pairs & 0xffff0000u : pairs << 16;
    const Floats scales[nv] = {reinterpret_cast<Floats>(first), reinterpret_cast<Floats>(second)};
    repeat<Rows * nv>([&](auto s) WEFT_INLINE {
      constexpr int row = s.value / nv, v = s.value % nv;
      Words whole = total(sums[row * Digits * nv + v]);
      if constexpr (Digits == 2) whole = (whole << 8) + total(sums[(row * Digits + 1) * nv + v]);
      whole += static_cast<std::uint32_t>(corrections[row]);
      y[s.value] = y[s.value] + floats(reinterpret_cast<Ints>(whole)) *
                                    Vec<float>(static_cast<Vec<float>::register_type>(scales[v]));
    });
    a += t.a_group;
    panel += int4_group_bytes(nr);
    corrections += t.correction_group;
  }
  repeat<Rows * nv>([&](auto s) WEFT_INLINE {
    constexpr std::int64_t row = s.value / nv, j = s.value % nv * float_lanes;
    const Vec<float> result = y[s.value] * Vec<float>(t.row_scales[row]);
    float* to = t.y + row * t.y_row + j;
    if (t.columns - j >= float_lanes) simd::store(to, result);
    else if (t.columns > j) simd::store_n(to, result, t.columns - j);
  });
}

template <int Digits, int... I>
void tile_of(const Int4Tile& t, std::integer_sequence<int, I...>) noexcept {
  using Part = void (*)(const Int4Tile&) noexcept;
  static constexpr Part parts[] = {part_of_tile<I + 1, Digits>...};
  parts[t.rows - 1](t);
}

void tile(const Int4Tile& t) noexcept {
  if (t.digits == 1) tile_of<1>(t, std::make_integer_sequence<int, mr>());
  else tile_of<2>(t, std::make_integer_sequence<int, mr / 2>());
}

template <class T>
constexpr Int4Kernels<T> table() {
  return {.mr = mr, .nr = nr, .write_digits = write_digits<T>, .tile = tile};
}

}  // namespace
}  // namespace weft::detail::WEFT_ISA

WEFT_KERNEL_TABLE(Int4Kernels, float)
WEFT_KERNEL_TABLE(Int4Kernels, weft::bfloat16)
