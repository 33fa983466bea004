// This file is compiled once per instruction set, like the kernels. The compiler contracts a multiply and an add to one
// FMA if the instruction set has FMA.
#include "machine/fma_loop.h"

#include <cstddef>
#include <utility>
#if WEFT_HAS_SSE2
#include <immintrin.h>
#endif

namespace weft::bench::WEFT_ISA {
namespace {

using Vector [[gnu::vector_size(WEFT_VECTOR_BYTES)]] = float;
constexpr std::size_t lanes = WEFT_VECTOR_BYTES / sizeof(float);
// Two FMA units with a latency of 4 cycles need at least 8 independent chains. 12 chains and the two operands fit into
// 16 registers.
constexpr std::size_t chains = 12;

// acc_i ← acc_i · factor + term, in `chains` independent chains.
template <std::size_t... I>
float loop(long iterations, float factor, float term, std::index_sequence<I...>) {
  const Vector f = Vector{} + factor, t = Vector{} + term;
  Vector acc[] = {(Vector{} + static_cast<float>(I))...};
  for (long k = 0; k < iterations; ++k) ((acc[I] = acc[I] * f + t), ...);
  Vector sum{};
  ((sum += acc[I]), ...);
  float total = 0;
  for (std::size_t i = 0; i < lanes; ++i) total += sum[i];
  return total;
}

float run(long iterations, float factor, float term) {
  return loop(iterations, factor, term, std::make_index_sequence<chains>());
}

#if WEFT_HAS_SSE2
#if WEFT_HAS_AVX512
using Integers = __m512i;
Integers multiply_pairs(Integers a, Integers b) { return _mm512_madd_epi16(a, b); }
#elif WEFT_HAS_AVX2
using Integers = __m256i;
Integers multiply_pairs(Integers a, Integers b) { return _mm256_madd_epi16(a, b); }
#else
using Integers = __m128i;
Integers multiply_pairs(Integers a, Integers b) { return _mm_madd_epi16(a, b); }
#endif

// acc_i ← the pair products of acc_i and factor. Only the number of products matters, not the result.
template <std::size_t... I>
int pair_loop(long iterations, int term, std::index_sequence<I...>) {
  using Ints [[gnu::vector_size(WEFT_VECTOR_BYTES)]] = int;
  const Ints factor = Ints{} + term;
  Ints acc[] = {(Ints{} + static_cast<int>(I))...};
  const auto step = [&](Ints& a) {
    a = reinterpret_cast<Ints>(multiply_pairs(reinterpret_cast<Integers>(a), reinterpret_cast<Integers>(factor)));
  };
  for (long k = 0; k < iterations; ++k) (step(acc[I]), ...);
  Ints sum{};
  ((sum += acc[I]), ...);
  return sum[0];
}

int pairs(long iterations, int term) { return pair_loop(iterations, term, std::make_index_sequence<chains>()); }
constexpr double pair_flops = 4.0 * chains * lanes;
#else
constexpr int (*pairs)(long, int) = nullptr;
constexpr double pair_flops = 0;
#endif

// The barrier prevents the compiler from calling memcpy, which bypasses the cache for long copies.
void copy(const float* from, float* to, long n) {
  using Unaligned [[gnu::vector_size(WEFT_VECTOR_BYTES), gnu::aligned(4), gnu::may_alias]] = float;
  constexpr long step = lanes;
  long i = 0;
  for (; i + 4 * step <= n; i += 4 * step) {
    for (long k = 0; k < 4; ++k)
      *reinterpret_cast<Unaligned*>(to + i + k * step) = *reinterpret_cast<const Unaligned*>(from + i + k * step);
    asm volatile("" ::: "memory");
  }
  for (; i < n; ++i) to[i] = from[i];
}

float read(const float* from, long n) {
  using Unaligned [[gnu::vector_size(WEFT_VECTOR_BYTES), gnu::aligned(4), gnu::may_alias]] = float;
  constexpr long step = lanes;
  Vector sums[4] = {};
  for (long i = 0; i + 4 * step <= n; i += 4 * step)
    for (long k = 0; k < 4; ++k) sums[k] += *reinterpret_cast<const Unaligned*>(from + i + k * step);
  const Vector sum = sums[0] + sums[1] + sums[2] + sums[3];
  return sum[0] + sum[lanes - 1];
}

constexpr FmaLoop table() {
  return {.run = run,
          .flops = 2.0 * chains * lanes,
          .lanes = static_cast<int>(lanes),
          .pairs = pairs,
          .pair_flops = pair_flops,
          .copy = copy,
          .read = read};
}

}  // namespace
}  // namespace weft::bench::WEFT_ISA

template <>
constinit const weft::bench::FmaLoop weft::detail::KernelTable<weft::Isa::WEFT_ISA, weft::bench::FmaLoop>::value =
    weft::bench::WEFT_ISA::table();
