#include "dense/kernels/quantized.h"

#include "dense/kernels/gemm.h"
#include "dense/kernels/quantized_vectors.h"
#include "simd/registers.h"

namespace weft::detail::WEFT_ISA {
namespace {

using Pairs = std::uint64_t __attribute__((vector_size(WEFT_VECTOR_BYTES)));
using HalfShorts = std::int16_t __attribute__((vector_size(WEFT_VECTOR_BYTES / 2)));
using HalfBytes = std::int8_t __attribute__((vector_size(WEFT_VECTOR_BYTES / 2)));

// With byte products (vpdpbusd, sdot), a unit is four bytes. sdot takes x's unit from a lane of a vector.
#if WEFT_HAS_BYTE_PRODUCTS && WEFT_HAS_LANE_PRODUCTS
#define WEFT_TAKES_LANES 1
#else
#define WEFT_TAKES_LANES 0
#endif

constexpr bool bytes = WEFT_HAS_BYTE_PRODUCTS;
using Digit = std::conditional_t<bytes, std::int8_t, std::int16_t>;
constexpr std::int64_t unit = bytes ? 4 : 2, nv = 2, nr = nv * float_lanes;
// The registers hold mr · nv sums, nv vectors of W, and one vector of x (or mr vectors from which lanes are taken).
// With a widened panel they hold wide_mr · nv sums, two units of nv vectors of W, two vectors of x, and two vectors for
// the sums of both.
constexpr int mr = WEFT_HAS_AVX512 ? 12 : WEFT_TAKES_LANES ? 8 : 6, wide_mr = WEFT_HAS_AVX512 ? 12 : 4;
// Larger: with AVX-512, the panels are no longer read as a stream. Smaller: on Zen 4 with AVX2, 2048 takes 1.3 times as
// long as 8192. bench: weft-decode-bench --model large --precision int8 --isa avx2
constexpr std::int64_t near_bytes = WEFT_HAS_AVX512 ? 2048 : 8192;
static_assert(mr % 2 == 0 && wide_mr % 2 == 0, "whole rows of x");
static_assert(mr * nr <= largest_tile);
// vpdpbusd multiplies unsigned bytes by signed bytes, so panels hold w + 128, and 128 Σ x is subtracted. For sdot both
// bytes are signed.
constexpr int offset = bytes && !WEFT_TAKES_LANES ? 128 : 0;

WEFT_INLINE inline void store_digits(Digit* p, Ints x) noexcept {
#if WEFT_HAS_BYTE_PRODUCTS
  store_bytes(p, x);
#elif WEFT_HAS_AVX512
  store_bits(p, _mm512_cvtepi32_epi16(reinterpret_cast<__m512i>(x)));
#else
  store_bits(p, __builtin_convertvector(x, HalfShorts));
#endif
}

// Returns the index in a panel of element p (0 ≤ p < k) of column i.
WEFT_INLINE inline std::int64_t place(std::int64_t p, std::int64_t i) noexcept {
  return (p / unit * nr + i) * unit + p % unit;
}

void pack(std::int64_t n, std::int64_t k, const std::int8_t* values, std::int64_t row, std::int8_t* panel) noexcept {
  for (std::int64_t p = 0; p < k; p += unit)
    for (std::int64_t i = 0; i < nr; ++i)
      for (std::int64_t q = p; q < p + unit; ++q)
        panel[place(q, i)] = static_cast<std::int8_t>((i < n && q < k ? values[i * row + q] : 0) + offset);
}

void unpack(std::int64_t n, std::int64_t k, const std::int8_t* panel, std::int8_t* values, std::int64_t row) noexcept {
  for (std::int64_t p = 0; p < k; ++p)
    for (std::int64_t i = 0; i < n; ++i) values[i * row + p] = static_cast<std::int8_t>(panel[place(p, i)] - offset);
}

void dequantize(std::int64_t k, const std::int8_t* panel, std::int64_t i, float scale, float* y) noexcept {
  for (std::int64_t p = 0; p < k; ++p)
    y[p] = scale * static_cast<float>(static_cast<std::int8_t>(panel[place(p, i)] - offset));
}

// Compares the bits of |x| as integers, which have the same order as the numbers. Infinity and NaN have the largest
// bits.
template <class T>
float magnitude(std::int64_t n, const T* x) noexcept {
  const auto bits = [](Vec<float> v) WEFT_INLINE {
    return reinterpret_cast<Ints>(static_cast<Vec<float>::register_type>(v)) & 0x7fffffff;
  };
  Ints most[4] = {};
  const auto take = [&](int s, Vec<float> v) WEFT_INLINE { most[s] = bits(v) > most[s] ? bits(v) : most[s]; };
  std::int64_t i = 0;
  for (; i + 4 * float_lanes <= n; i += 4 * float_lanes)
    repeat<4>([&](auto s) WEFT_INLINE { take(s.value, simd::load(x + i + s.value * float_lanes)); });
  for (; i < n; i += float_lanes) take(0, n - i < float_lanes ? simd::load_n(x + i, n - i) : simd::load(x + i));
  std::int32_t all = 0;
  for (const Ints& some : most)
    for (std::int64_t l = 0; l < float_lanes; ++l) all = some[l] > all ? some[l] : all;
  if (all >= 0x7f800000) all = 0x7fc00000;
  float result;
  __builtin_memcpy(&result, &all, sizeof all);
  return result;
}

template <class T>
void quantize(std::int64_t n, const T* x, float first, float second, std::int8_t* values) noexcept {
  for (std::int64_t i = 0; i < n; i += float_lanes) {
    const std::int64_t count = n - i < float_lanes ? n - i : float_lanes;
    const Ints whole = rounded(count < float_lanes ? simd::load_n(x + i, count) : simd::load(x + i), first, second);
    for (std::int64_t l = 0; l < count; ++l) values[i + l] = static_cast<std::int8_t>(whole[l]);
  }
}

// Returns sum + the products of the units x and w, modulo 2^32.
#if WEFT_TAKES_LANES
template <int I>  // the lane of x
WEFT_INLINE inline Words multiply_add_lane(Ints w, Ints x, Words sum) noexcept {
  return reinterpret_cast<Words>(vdotq_laneq_s32(reinterpret_cast<int32x4_t>(sum), reinterpret_cast<int8x16_t>(w),
                                                 reinterpret_cast<int8x16_t>(x), I));
}
#else
WEFT_INLINE inline Words multiply_add(Ints w, Ints x, Words sum) noexcept {
#if WEFT_HAS_BYTE_PRODUCTS
  return reinterpret_cast<Words>(
      _mm512_dpbusd_epi32(reinterpret_cast<__m512i>(sum), reinterpret_cast<__m512i>(w), reinterpret_cast<__m512i>(x)));
#elif WEFT_HAS_AVX512
  return sum + reinterpret_cast<Words>(_mm512_madd_epi16(reinterpret_cast<__m512i>(w), reinterpret_cast<__m512i>(x)));
#elif WEFT_HAS_AVX2
  return sum + reinterpret_cast<Words>(_mm256_madd_epi16(reinterpret_cast<__m256i>(w), reinterpret_cast<__m256i>(x)));
#elif WEFT_HAS_SSE2
  return sum + reinterpret_cast<Words>(_mm_madd_epi16(reinterpret_cast<__m128i>(w), reinterpret_cast<__m128i>(x)));
#else
  return sum + reinterpret_cast<Words>((w << 16 >> 16) * (x << 16 >> 16) + (w >> 16) * (x >> 16));
#endif
}
#endif

// Returns the excess of a row of digits, which has an even number of units.
std::int32_t excess([[maybe_unused]] std::int64_t units, [[maybe_unused]] const std::int32_t* row) noexcept {
#if WEFT_TAKES_LANES
  return 0;
#else
  Words sums{};
  for (std::int64_t u = 0; u < units; u += float_lanes) {
    const Ints x = load_bits<Ints>(row + u);
    if constexpr (bytes) sums = multiply_add(Ints{} + static_cast<std::int32_t>(0x01010101u * offset), x, sums);
    else sums = multiply_add(reinterpret_cast<Ints>(reinterpret_cast<Pairs>(x) >> 32), x, sums);
  }
  std::uint32_t all = 0;
  for (std::int64_t l = 0; l < float_lanes; ++l) all += sums[l];
  return static_cast<std::int32_t>(all);
#endif
}

template <int Digits, class T>
void write_rows(std::int64_t n, const T* x, float first, float second, std::int32_t* out, std::int64_t row,
                std::int32_t* excesses) noexcept {
  const auto step = [&](std::int64_t i, Vec<float> v) WEFT_INLINE {
    for_digits<Digits>(rounded(v, first, second), [&](int digit, Ints values) WEFT_INLINE {
      store_digits(reinterpret_cast<Digit*>(out + digit * row) + i, values);
    });
  };
  std::int64_t i = 0;
  for (; i + float_lanes <= n; i += float_lanes) step(i, simd::load(x + i));
  if (i < n) step(i, simd::load_n(x + i, n - i)), i += float_lanes;
  for (; i % digit_step != 0; i += float_lanes) step(i, Vec<float>(0));
  for (int d = 0; d < Digits; ++d) excesses[d] = excess(i / unit, out + d * row);
}

template <class T>
void write_digits(std::int64_t n, const T* x, float first, float second, int digits, std::int32_t* out,
                  std::int64_t row, std::int32_t* excesses) noexcept {
  if (digits == 1) write_rows<1>(n, x, first, second, out, row, excesses);
  else write_rows<2>(n, x, first, second, out, row, excesses);
}

// Computes rows of y: combines the sums of the digits of x's rows, and multiplies the results by the scales.
void write_tile(const QuantizedTile& t, const std::int32_t (*sums)[nr]) noexcept {
  for (int i = 0; i < t.rows; ++i) {
    const Vec<float> row_scale(t.row_scales[i]);
    for (std::int64_t j = 0; j < t.columns; j += float_lanes) {
      const std::int64_t rest = t.columns - j;
      Vec<float> y(0);
      for (int d = i * t.digits; d < (i + 1) * t.digits; ++d)
        y = y * Vec<float>(256) + floats(load_bits<Ints>(&sums[d][j]));
      const bool whole = rest >= float_lanes;
      y = y * (whole ? simd::load(t.column_scales + j) : simd::load_n(t.column_scales + j, rest)) * row_scale;
      if (whole) simd::store(t.y + i * t.y_row + j, y);
      else simd::store_n(t.y + i * t.y_row + j, y, rest);
    }
  }
}

// Loads a unit of each of `lanes` columns, in the format that products take.
WEFT_INLINE inline Ints load_columns(const std::int8_t* p) noexcept {
  if constexpr (bytes) return load_bits<Ints>(p);
#if WEFT_HAS_AVX512
  else return reinterpret_cast<Ints>(_mm512_cvtepi8_epi16(load_bits<__m256i>(p)));
#elif WEFT_HAS_AVX2
  else return reinterpret_cast<Ints>(_mm256_cvtepi8_epi16(load_bits<__m128i>(p)));
#else
  else return reinterpret_cast<Ints>(__builtin_convertvector(load_bits<HalfBytes>(p), Shorts));
#endif
}

#if !WEFT_HAS_BYTE_PRODUCTS
WEFT_INLINE inline Ints add_digits(Ints x, Ints y) noexcept {
  return reinterpret_cast<Ints>(reinterpret_cast<Shorts>(x) + reinterpret_cast<Shorts>(y));
}

void widen(std::int64_t k, const std::int8_t* panel, std::int32_t* wide) noexcept {
  Words correction[nv] = {};
  std::int32_t* to = wide + nr;
  for (std::int64_t u = 0; u < wide_units(k); u += 2, to += 2 * nr)
    repeat<nv>([&](auto v) WEFT_INLINE {
      const std::int8_t* from = panel + (u * nr + v.value * float_lanes) * unit;
      const Ints first = u < k ? load_columns(from) : Ints{};
      const Ints second = u + 1 < k ? load_columns(from + nr * unit) : Ints{};
      correction[v.value] = multiply_add(first, second, correction[v.value]);
      store_bits(to + v.value * float_lanes, first);
      store_bits(to + nr + v.value * float_lanes, second);
    });
  repeat<nv>([&](auto v) WEFT_INLINE { store_bits(wide + v.value * float_lanes, -correction[v.value]); });
}
#endif

// Multiplies R rows of digits by a panel, which is widened if Wide is true. This function is never inlined, so that all
// registers are available for the sums. Its steps:
//
//   sums = 0, or the widened panel's initial sums
//   for each group of 4 units:
//     prefetch part of the next panel (not Wide)
//     for each unit (Wide: pair of units):
//       load the unit's nv vectors of columns (Wide: 2 nv)
//       for each of the R rows: sums of the row += row's unit · columns
//   the remaining units one by one (not Wide; a widened panel has whole groups)
//   sums -= excess of their rows
//   y = sums · scales, combining the digits of each row
template <int R, bool Wide>
[[gnu::noinline]] void part_of_tile(const QuantizedTile& t) noexcept {
  constexpr int unrolled = 4;  // units
  static_assert(unrolled == wide_step);
  constexpr std::int64_t line = 64, unit_bytes = nr * (Wide ? 4 : unit);
  Words sums[R * nv];
  repeat<R * nv>([&](auto s) WEFT_INLINE {
    sums[s.value] = Wide ? load_bits<Words>(t.wide + s.value % nv * float_lanes) : Words{};
  });
  // Each row has a pointer if there are enough registers. Otherwise four rows share one pointer. The address of a row
  // is then the pointer plus -1, 0, 1 or 2 times the stride.
  constexpr int shared = R <= 8 ? 1 : 4, second = shared == 4 ? 1 : 0, pointers = (R + shared - 1) / shared;
  const std::int32_t* a[pointers];
  repeat<pointers>([&](auto q) WEFT_INLINE { a[q.value] = t.a + (shared * q.value + second) * t.a_row; });
  const std::int64_t a_row = t.a_row, group = unrolled * t.next_step;
  const auto* b = Wide ? reinterpret_cast<const std::int8_t*>(t.wide + nr) : t.panel;
  const std::int8_t* next = t.next;
  // The number of units whose products are added together: one unit, or a pair of units if the panel is widened.
  constexpr int units = Wide ? 2 : 1;
#if WEFT_TAKES_LANES
  Ints rows[R];  // units of x's rows; units past the end of a row are padding
#endif
  const auto add_products = [&](auto step) WEFT_INLINE {
    Ints columns[units * nv];
    repeat<units * nv>([&](auto s) WEFT_INLINE {
      const std::int8_t* p = b + (step.value * units * nv + s.value) * (unit_bytes / nv);
      if constexpr (Wide) columns[s.value] = load_bits<Ints>(p), simd::keep_in_register(columns[s.value]);
      else columns[s.value] = load_columns(p);
    });
    repeat<R>([&](auto i) WEFT_INLINE {
      const std::int32_t* p = a[i.value / shared] + (i.value % shared - second) * a_row + step.value * units;
#if WEFT_TAKES_LANES
      constexpr int lane = step.value % float_lanes;
      if constexpr (lane == 0) rows[i.value] = load_bits<Ints>(p);
      repeat<nv>([&](auto v) WEFT_INLINE {
        Words& sum = sums[i.value * nv + v.value];
        sum = multiply_add_lane<lane>(columns[v.value], rows[i.value], sum);
      });
#else
      const Ints x = Ints{} + p[0], next_x = Ints{} + p[units - 1];
      repeat<nv>([&](auto v) WEFT_INLINE {
        Words& sum = sums[i.value * nv + v.value];
        if constexpr (Wide)
          sum = multiply_add(add_digits(x, columns[nv + v.value]), add_digits(next_x, columns[v.value]), sum);
        else sum = multiply_add(columns[v.value], x, sum);
      });
#endif
    });
#if !WEFT_TAKES_LANES
    // Without this line, the compiler adds the products of several units before it adds them to the sums, which needs
    // more registers than there are. sdot includes the addition.
    repeat<R * nv>([&](auto s) WEFT_INLINE { simd::keep_in_register(sums[s.value]); });
#endif
  };
  const auto advance = [&](std::int64_t by) WEFT_INLINE {
    b += by * unit_bytes;
    repeat<pointers>([&](auto q) WEFT_INLINE { a[q.value] += by; });
  };
  std::int64_t left = t.k;
  for (; left >= unrolled; left -= unrolled) {
    if constexpr (!Wide) {
      repeat<unrolled * unit_bytes / line>([&](auto l) WEFT_INLINE {
        if (l.value * line < group) __builtin_prefetch(next + l.value * line, 0, 2);
      });
      next += group;
    }
    repeat<unrolled / units>(add_products);
    advance(unrolled);
  }
  if constexpr (!Wide)
    for (; left > 0; --left) {
      add_products(Index<0>{});
      advance(1);
    }
  if constexpr (Wide || offset != 0)
    repeat<R * nv>([&](auto s) WEFT_INLINE { sums[s.value] -= static_cast<std::uint32_t>(t.excesses[s.value / nv]); });
  if (t.digits == 1 && t.columns == nr) {
    repeat<R * nv>([&](auto s) WEFT_INLINE {
      constexpr std::int64_t i = s.value / nv, j = s.value % nv * float_lanes;
      const Vec<float> scale = simd::load(t.column_scales + j), row_scale(t.row_scales[i]);
      simd::store(t.y + i * t.y_row + j, floats(reinterpret_cast<Ints>(sums[s.value])) * scale * row_scale);
    });
  } else {
    alignas(64) std::int32_t all[R][nr];
    repeat<R * nv>([&](auto s)
                       WEFT_INLINE { store_bits(&all[s.value / nv][s.value % nv * float_lanes], sums[s.value]); });
    write_tile(t, all);
  }
}

template <bool Wide, int... I>
void tile_of(const QuantizedTile& t, std::integer_sequence<int, I...>) noexcept {
  using Part = void (*)(const QuantizedTile&) noexcept;
  static constexpr Part parts[] = {part_of_tile<I + 1, Wide>...};
  parts[t.rows * t.digits - 1](t);
}

void tile(const QuantizedTile& t) noexcept {
#if !WEFT_HAS_BYTE_PRODUCTS
  if (t.wide) return tile_of<true>(t, std::make_integer_sequence<int, wide_mr>());
#endif
  tile_of<false>(t, std::make_integer_sequence<int, mr>());
}

template <class T>
constexpr QuantizedKernels<T> table() {
  return {
    .mr = mr, .wide_mr = wide_mr, .nr = nr, .unit = unit, .near_bytes = near_bytes, .pack = pack, .unpack = unpack,
    .magnitude = magnitude<T>, .quantize = quantize<T>, .write_digits = write_digits<T>,
#if !WEFT_HAS_BYTE_PRODUCTS
    .widen = widen,
#endif
    .tile = tile, .dequantize = dequantize
  };
}

}  // namespace
}  // namespace weft::detail::WEFT_ISA

WEFT_KERNEL_TABLE(QuantizedKernels, float)
WEFT_KERNEL_TABLE(QuantizedKernels, weft::bfloat16)
