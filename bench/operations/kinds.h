// The kinds of work that can be timed, for weft and for its peers.
#pragma once
#include <cstdint>
#include <string>

#include "machine/work.h"
#include "weft/random.h"
#include "weft/tensor.h"

namespace weft::bench {

struct Sizes {
  std::int64_t b = 1, n = 1, d = 1;
  bool causal = true;
};

// Returns true if kinds.cpp describes this kind. An equation of einsum counts as the kind einsum.
bool is_kind(const std::string& kind);
std::string kinds_text();  // a table of all kinds

// Prepares work of one of the kinds in kinds.cpp. Throws an Error for any other kind.
Work weft_work(const std::string& kind, const Sizes& s, int threads);

// The same for FFTW, planned with FFTW_MEASURE. It supports c2c, r2c, c2r, c2c-columns and toeplitz-cached, which
// transforms `threads` rows of length 2n at a time. `run` is empty for other kinds, or if this build has no FFTW.
Work fftw_work(const std::string& kind, const Sizes& s, int threads);
std::string fftw_version();  // "" if this build has none

// The same for oneDNN's dnnl_sgemm. It supports gemm-nn, gemm-nt, gemm-tn and gemm-nt-cold, and the product of linear
// without the bias. `run` is empty for other kinds, or if this build has no oneDNN.
Work onednn_work(const std::string& kind, const Sizes& s, int threads);
std::string onednn_version();  // "" if this build has none
std::string onednn_isa();      // the instruction set that it may use

// Numbers with a normal distribution. Each stream has other numbers.
inline Tensor normal(const Shape& shape, std::uint64_t stream, double deviation = 1) {
  return Random(1, stream).normal(shape, 0, deviation);
}

double c2c_flops(std::int64_t n);
double nominal_flops(const std::string& kind, const Sizes& s);
double nominal_bytes(const std::string& kind, const Sizes& s);

// Transforms `batch` rows of length n once with FFTW, to measure its error. `kind` is c2c, r2c or c2r. Complex `in` and
// `out` are interleaved. Returns false if FFTW is not available.
bool fftw_transform(const std::string& kind, std::int64_t batch, std::int64_t n, const float* in, float* out);

}  // namespace weft::bench
