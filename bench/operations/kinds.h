// The kinds of work that can be timed, for weft and for its peers.
#pragma once
#include <cstdint>
#include <string>

#include "machine/work.h"

namespace weft::bench {

struct Sizes {
  std::int64_t b = 1, n = 1, d = 1;
  bool causal = true;
};

// Prepares work of one of these kinds, in f32 unless the kind says otherwise:
//   c2c, r2c, c2r     transforms of b contiguous rows of n
//   c2c-f64           c2c in f64
//   c2c-columns       c2c of (b, n, d) along n
//   toeplitz          product of x (b, n, d), including the spectra of the coefficients
//   toeplitz-cached   the same with the spectra kept from an earlier call
//   toeplitz-train    forward and backward, for x and the coefficients
//   toeplitz-naive    the product by its definition
//   toeplitz-matrix   the product with explicit matrices
//   circulant         cyclic product of x (b, n, d), including the spectra
//   mix, mix-train    the real part of the FFTs of (b, n, d) over n and d; mix-train: with backward
//   gemm-nn, -nt, -tn C (b, n) as a sum over d; t in place of n: A or B is stored transposed
//   gemm-bf16-nn, …   the same in bf16
//   gemm-nt-cold      gemm-nt with another B in each call; together they do not fit into the last-level cache
//   linear            linear layer with x (b, d), weight (n, d) and bias
//   linear-bf16       the same in bf16, from packed weights; linear-int8: bf16 x, quantized weights
//   linear-int8-cold  linear-int8 with another weight in each call, as in gemm-nt-cold
//   linear-gelu       with gelu; linear-gelu-train: on a tape, which keeps the input of gelu
//   einsum:E:SIZES    equation E; the sizes of its letters in order of first appearance, separated by commas
//   fma               multiply-adds in registers
//   copy              a copy of n bytes
// Throws an Error for any other kind.
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

double c2c_flops(std::int64_t n);
double nominal_flops(const std::string& kind, const Sizes& s);
double nominal_bytes(const std::string& kind, const Sizes& s);

// Transforms `batch` rows of length n once with FFTW, to measure its error. `kind` is c2c, r2c or c2r. Complex `in` and
// `out` are interleaved. Returns false if FFTW is not available.
bool fftw_transform(const std::string& kind, std::int64_t batch, std::int64_t n, const float* in, float* out);

}  // namespace weft::bench
