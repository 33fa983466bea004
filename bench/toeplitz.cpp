// The Toeplitz product: with kept spectra, with the coefficients' transform, forward and backward.
#include "family.h"

namespace weft::bench {
namespace {

constexpr Sizes sizes[] = {
    {8, 512, 512, true}, {8, 512, 512, false}, {1, 16384, 128, true}, {4, 2048, 256, true}, {8, 64, 512, true},
    {8, 500, 512, true}, {1, 1024, 64, true},  {1, 65536, 64, true},
};

}  // namespace

void add_toeplitz(int threads) {
  for (const char* kind : {"toeplitz-cached", "toeplitz", "toeplitz-train"})
    for (const Sizes& s : sizes) {
      const std::string label = std::to_string(s.b) + "x" + std::to_string(s.n) + "x" + std::to_string(s.d);
      add_benchmarks(kind, s, label + (s.causal ? "/causal" : "/bidirectional"), threads);
    }
}

}  // namespace weft::bench
