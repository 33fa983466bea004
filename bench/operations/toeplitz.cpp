// Benchmarks of the Toeplitz product: with kept spectra, with the transform of the coefficients, and forward with
// backward. This file also contains benchmarks of its naive form, its matrix form, and the circulant product.
#include "operations/family.h"

namespace weft::bench {
namespace {

constexpr Sizes sizes[] = {
    {8, 512, 512, true}, {8, 512, 512, false}, {1, 16384, 128, true}, {4, 2048, 256, true},
    {8, 64, 512, true},  {8, 500, 512, true},  {1, 1024, 64, true},   {1, 65536, 64, true},
};

constexpr Sizes small_sizes[] = {{8, 16, 512, true}, {8, 64, 512, true}, {8, 64, 512, false}, {8, 256, 512, true}};
constexpr Sizes circulant_sizes[] = {{8, 64, 512}, {8, 512, 512}, {1, 16384, 128}};

std::string label_of(const Sizes& s) {
  return std::to_string(s.b) + "x" + std::to_string(s.n) + "x" + std::to_string(s.d);
}
std::string form_of(const Sizes& s) { return s.causal ? "/causal" : "/bidirectional"; }

}  // namespace

void add_toeplitz(int threads) {
  for (const char* kind : {"toeplitz-cached", "toeplitz", "toeplitz-train"})
    for (const Sizes& s : sizes) add_benchmarks(kind, s, label_of(s) + form_of(s), threads);
  for (const char* kind : {"toeplitz-naive", "toeplitz-matrix"})
    for (const Sizes& s : small_sizes) add_benchmarks(kind, s, label_of(s) + form_of(s), threads);
  for (const Sizes& s : circulant_sizes) add_benchmarks("circulant", s, label_of(s), threads);
}

}  // namespace weft::bench
