// The kinds of work that can be timed, weft's and the peers'.
#pragma once
#include <cstdint>
#include <string>

#include "machine/work.h"

namespace weft::bench {

struct Sizes {
  std::int64_t b = 1, n = 1, d = 1;
  bool causal = true;
};

// Kinds, in f32 unless the kind says otherwise:
//   c2c, r2c, c2r     transforms of b contiguous rows of n
//   c2c-f64           c2c in f64
//   c2c-columns       c2c of (b, n, d) along n
//   toeplitz          product of x (b, n, d), including the spectra of the coefficients
//   toeplitz-cached   the same with the spectra kept from an earlier call
//   toeplitz-train    forward and backward, for x and the coefficients
//   toeplitz-naive    the product by its definition
//   toeplitz-matrix   the product by matrices
//   circulant         cyclic product of x (b, n, d), including the spectra
//   mix, mix-train    Re FFT FFT of (b, n, d) over n and d; mix-train: with backward
//   gemm-nn, -nt, -tn C (b, n) of a sum over d; T: the matrix is stored transposed
//   gemm-bf16-nn, …   the same in bf16
//   gemm-nt-cold      the same with another B at each call, from more memory than the last-level cache holds
//   linear            x (b, d), weight (n, d), bias
//   linear-bf16       the same in bf16, from packed weights; linear-int8: bf16 x, quantized weights
//   linear-int8-cold  the same with another weight at each call, from more memory than the last-level cache holds
//   linear-gelu       with gelu; linear-gelu-train: on a tape, which keeps the input of gelu
//   einsum:E:SIZES    equation E; the sizes of its letters in order of first appearance, separated by commas
//   fma               the register-only loop
//   copy              of n bytes
// Any other kind is an Error.
Work weft_work(const std::string& kind, const Sizes& s, int threads);

// FFTW's work, planned with FFTW_MEASURE: c2c, r2c, c2r, c2c-columns, toeplitz-cached (rows of 2n, `threads` of them at
// a time). `run` is empty for any other kind, and if this build has no FFTW.
Work fftw_work(const std::string& kind, const Sizes& s, int threads);
std::string fftw_version();  // "" if this build has none

// oneDNN's dnnl_sgemm: gemm-*, and only the product of linear. `run` is empty for any other kind, and if this build has
// no oneDNN.
Work onednn_work(const std::string& kind, const Sizes& s, int threads);
std::string onednn_version();  // "" if this build has none
std::string onednn_isa();      // the instruction set that it may use

double c2c_flops(std::int64_t n);
double nominal_flops(const std::string& kind, const Sizes& s);
double nominal_bytes(const std::string& kind, const Sizes& s);

// One transform of `batch` rows of n by FFTW, to measure its error: c2c, r2c or c2r. Complex `in` and `out` are
// interleaved.
bool fftw_transform(const std::string& kind, std::int64_t batch, std::int64_t n, const float* in, float* out);

}  // namespace weft::bench
