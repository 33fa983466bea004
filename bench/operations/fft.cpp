// Benchmarks of transforms of contiguous rows, and of transforms along axis -2, where a vector holds neighboring
// channels.
#include "operations/family.h"

namespace weft::bench {
namespace {

constexpr std::int64_t rows = 64;
constexpr std::int64_t lengths[] = {64, 128, 256,  512,  1024, 2048, 4096, 8192, 16384, 32768, 65536,  // radix 2
                                    96, 360, 768,  1000, 1536,                                         // mixed radix
                                    97, 509, 1009, 8191};                                              // primes
constexpr std::int64_t channels = 64;
constexpr std::int64_t column_lengths[] = {256, 512, 1024, 2048, 4096};
constexpr std::int64_t column_bytes[] = {4 << 20, 64 << 20};  // input and output together

}  // namespace

void add_fft(int threads) {
  for (const char* kind : {"c2c", "r2c", "c2r", "c2c-f64"})
    for (const std::int64_t n : lengths)
      add_benchmarks(kind, {rows, n, 1}, std::to_string(rows) + "x" + std::to_string(n), threads);
  for (const std::int64_t bytes : column_bytes)
    for (const std::int64_t n : column_lengths) {
      const std::int64_t batch = bytes / (16 * n * channels);
      const std::string label = std::to_string(batch) + "x" + std::to_string(n) + "x" + std::to_string(channels);
      add_benchmarks("c2c-columns", {batch, n, channels}, label, threads);
    }
}

}  // namespace weft::bench
