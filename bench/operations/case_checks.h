// Measurements of weft-case other than time: errors and memory.
#pragma once
#include <cstdint>
#include <string>

#include "operations/kinds.h"

namespace weft::bench {

struct Errors {
  double weft = 0, fftw = 0;  // relative L2 errors over several rows; fftw is NaN without FFTW
};
// kind: c2c, r2c, c2r (contiguous rows) or c2c-columns (c2c along axis -2). FFTW always transforms contiguous rows.
Errors transform_errors(const std::string& kind, std::int64_t n);

// Peak bytes of a Toeplitz product, without its inputs, its outputs and the spectra of the coefficients.
struct ExtraMemory {
  std::int64_t forward = 0;  // with spectra from an earlier call
  std::int64_t train = 0;    // forward and backward, without (n+1)·d complex numbers for the spectra
};
ExtraMemory toeplitz_memory(const Sizes& s, int threads);

}  // namespace weft::bench
