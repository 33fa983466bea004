// Measures products of bf16 pairs in registers with AVX512-BF16.
#include <atomic>

#include "machine/machine.h"
#include "weft/context.h"
#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace weft::bench {
namespace {

// Independent accumulators, multiply-adds per instruction, and iterations per call.
constexpr int chains = 12;
constexpr double work = 32;
constexpr long iterations = 200000;
std::atomic<float> sink;

#if defined(__x86_64__)
[[gnu::target("avx512f,avx512bw,avx512bf16")]] float multiply(float term) {
  const auto bits = reinterpret_cast<__m512bh>(_mm512_set1_ps(term));
  __m512 sums[chains];
  for (int i = 0; i < chains; ++i) sums[i] = _mm512_set1_ps(static_cast<float>(i));
  for (long k = 0; k < iterations; ++k) {
#pragma GCC unroll 12
    for (int i = 0; i < chains; ++i) sums[i] = _mm512_dpbf16_ps(sums[i], bits, bits);
  }
  for (int i = 1; i < chains; ++i) sums[0] = _mm512_add_ps(sums[0], sums[i]);
  return _mm512_cvtss_f32(sums[0]);
}

bool has_bf16() { return isa_name(Context::current().isa()) == std::string("avx512bf16"); }
#else
float multiply(float term) { return term; }
bool has_bf16() { return false; }
#endif

}  // namespace

Work bf16_peak_work(int threads) {
  if (!has_bf16()) return fma_work(threads);
  Work w;
  w.flops = 2 * work * chains * static_cast<double>(iterations) * threads;
  w.run = [=] {
    Context::current().set_threads(threads);
    Context::current().parallel_for(
        threads, 1, [&](std::int64_t, std::int64_t) { sink.store(multiply(0.001f), std::memory_order_relaxed); });
  };
  return w;
}

}  // namespace weft::bench
