#include "pointwise/kernels/dropout.h"

#include "simd/math.h"
#include "simd/simd.h"

namespace weft::detail::WEFT_ISA {
namespace {

// Vectors of 64-bit integers, with one counter per lane.
using Words = math::Bits<simd::Vec<double>>;
constexpr std::int64_t counters = simd::lanes<double>;

// Multiplies the lower 32 bits of each lane. This uses intrinsics, because compilers would multiply all 64 bits.
inline Words mul_low(Words a, Words b) noexcept {
#if WEFT_HAS_AVX512
  return reinterpret_cast<Words>(_mm512_mul_epu32(reinterpret_cast<__m512i>(a), reinterpret_cast<__m512i>(b)));
#elif WEFT_HAS_AVX2
  return reinterpret_cast<Words>(_mm256_mul_epu32(reinterpret_cast<__m256i>(a), reinterpret_cast<__m256i>(b)));
#elif WEFT_HAS_SSE2
  return reinterpret_cast<Words>(_mm_mul_epu32(reinterpret_cast<__m128i>(a), reinterpret_cast<__m128i>(b)));
#else
  return (a & 0xffffffff) * (b & 0xffffffff);
#endif
}

// The two 64-bit numbers of each counter's block.
struct Block {
  std::uint64_t first[counters], second[counters];
};

// Philox4x32-10 of the counters first, first + 1, …, as in weft::philox. Only the lower halves of c0 … c3 are used.
inline void philox(std::uint64_t first, std::uint64_t stream, std::uint64_t seed, Block& block) noexcept {
  std::uint64_t each[counters];
  for (std::int64_t l = 0; l < counters; ++l) each[l] = first + static_cast<std::uint64_t>(l);
  Words c0, c1, c2 = Words{} + stream, c3 = c2 >> 32;
  __builtin_memcpy(&c0, each, sizeof c0);
  c1 = c0 >> 32;
  auto k0 = static_cast<std::uint32_t>(seed), k1 = static_cast<std::uint32_t>(seed >> 32);
  for (int round = 0; round < 10; ++round) {
    const Words p = mul_low(c0, Words{} + 0xD2511F53), q = mul_low(c2, Words{} + 0xCD9E8D57);
    c0 = (q >> 32) ^ c1 ^ k0;
    c1 = q;
    c2 = (p >> 32) ^ c3 ^ k1;
    c3 = p;
    k0 += 0x9E3779B9;
    k1 += 0xBB67AE85;
  }
  const Words a = (c1 << 32) | (c0 & 0xffffffff), b = (c3 << 32) | (c2 & 0xffffffff);
  __builtin_memcpy(block.first, &a, sizeof a);
  __builtin_memcpy(block.second, &b, sizeof b);
}

template <class T>
void dropout_values(const T* x, T* y, std::int64_t n, std::uint64_t first, std::uint64_t seed, std::uint64_t stream,
                    std::uint64_t limit, Computed<T> factor) noexcept {
  const Computed<T> factors[2] = {factor, 0};  // a table instead of a branch, which would be mispredicted
  Block block;
  for (std::int64_t begin = 0; begin < n; begin += 2 * counters) {
    philox((first + static_cast<std::uint64_t>(begin)) / 2, stream, seed, block);
    const std::int64_t count = n - begin < 2 * counters ? n - begin : 2 * counters;
    const auto product = [&](std::int64_t i) noexcept {
      const std::uint64_t bits = i % 2 == 0 ? block.first[i / 2] : block.second[i / 2];
      return simd::get(x + begin + i) * factors[bits >> 11 < limit];
    };
    if constexpr (std::is_same_v<T, Computed<T>>) {
      for (std::int64_t i = 0; i < count; ++i) y[begin + i] = product(i);
    } else {
      static_assert(2 * counters == simd::lanes<T>);
      Computed<T> products[2 * counters] = {};
      for (std::int64_t i = 0; i < count; ++i) products[i] = product(i);
      simd::store_n(y + begin, simd::load(products), count);
    }
  }
}

template <class T>
constexpr DropoutKernels<T> table() {
  return {.dropout = dropout_values<T>};
}

}  // namespace
}  // namespace weft::detail::WEFT_ISA

WEFT_KERNEL_TABLES_AND_BF16(DropoutKernels)
