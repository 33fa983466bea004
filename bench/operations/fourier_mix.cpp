// Benchmarks of Fourier mixing: forward, and forward with backward.
#include "operations/family.h"

namespace weft::bench {
namespace {

constexpr Sizes sizes[] = {{8, 512, 768}, {8, 512, 512}, {8, 128, 256}, {1, 4096, 768}, {8, 500, 360}};

}  // namespace

void add_fourier_mix(int threads) {
  for (const char* kind : {"mix", "mix-train"})
    for (const Sizes& s : sizes)
      add_benchmarks(kind, s, std::to_string(s.b) + "x" + std::to_string(s.n) + "x" + std::to_string(s.d), threads);
}

}  // namespace weft::bench
