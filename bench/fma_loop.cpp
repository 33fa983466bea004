// Compiled once per instruction set, with WEFT_ISA and WEFT_VECTOR_BYTES. The compiler contracts the multiply and add
// to one FMA where the instruction set has it.
#include "fma_loop.h"

#include <cstddef>
#include <utility>

namespace weft::bench::WEFT_ISA {
namespace {

using Vector [[gnu::vector_size(WEFT_VECTOR_BYTES)]] = float;
constexpr std::size_t lanes = WEFT_VECTOR_BYTES / sizeof(float);
// Two units × 4 cycles of latency need 8 chains; 12 and the two operands fit into 16 registers.
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

// The barrier keeps the compiler from calling memcpy, which takes other ways round the cache for long copies.
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
  return {.run = run, .flops = 2.0 * chains * lanes, .lanes = static_cast<int>(lanes), .copy = copy, .read = read};
}

}  // namespace
}  // namespace weft::bench::WEFT_ISA

template <>
constinit const weft::bench::FmaLoop weft::detail::KernelTable<weft::Isa::WEFT_ISA, weft::bench::FmaLoop>::value =
    weft::bench::WEFT_ISA::table();
