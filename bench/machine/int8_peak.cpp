// Measures integer products in registers: groups of four bytes with AVX512-VNNI, otherwise pairs of 16-bit integers.
#include <atomic>

#include "machine/fma_loop.h"
#include "machine/machine.h"
#include "weft/context.h"
#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace weft::bench {
namespace {

// Independent accumulators, multiply-adds per instruction, and iterations per call.
constexpr int chains = 12;
constexpr double work = 64;
constexpr long iterations = 200000;
std::atomic<int> sink;

#if defined(__x86_64__)
[[gnu::target("avx512f,avx512bw,avx512vnni")]] int multiply(int term) {
  const __m512i bytes = _mm512_set1_epi32(term);
  __m512i sums[chains];
  for (int i = 0; i < chains; ++i) sums[i] = _mm512_set1_epi32(i);
  for (long k = 0; k < iterations; ++k) {
#pragma GCC unroll 12
    for (int i = 0; i < chains; ++i) sums[i] = _mm512_dpbusd_epi32(sums[i], bytes, bytes);
  }
  for (int i = 1; i < chains; ++i) sums[0] = _mm512_add_epi32(sums[0], sums[i]);
  return _mm512_cvtsi512_si32(sums[0]);
}

bool has_vnni() { return isa_name(Context::current().isa()) == std::string("avx512bf16"); }
#else
int multiply(int term) { return term; }
bool has_vnni() { return false; }
#endif

Work pairs_work(int threads) {
  const FmaLoop loop = detail::kernels<FmaLoop>();
  if (loop.pairs == nullptr) return fma_work(threads);
  Work w;
  w.flops = static_cast<double>(iterations) * loop.pair_flops * threads;
  w.run = [=] {
    Context::current().set_threads(threads);
    Context::current().parallel_for(threads, 1, [&](std::int64_t, std::int64_t) {
      sink.store(loop.pairs(iterations, 0x00010001), std::memory_order_relaxed);
    });
  };
  return w;
}

}  // namespace

Work int8_peak_work(int threads) {
  if (!has_vnni()) return pairs_work(threads);
  Work w;
  w.flops = 2 * work * chains * static_cast<double>(iterations) * threads;
  w.run = [=] {
    Context::current().set_threads(threads);
    Context::current().parallel_for(
        threads, 1, [&](std::int64_t, std::int64_t) { sink.store(multiply(0x01010101), std::memory_order_relaxed); });
  };
  return w;
}

}  // namespace weft::bench
