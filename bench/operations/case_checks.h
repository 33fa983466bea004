// What weft-case measures beside time.
#pragma once
#include <cstdint>
#include <string>

#include "operations/kinds.h"

namespace weft::bench {

struct Errors {
  double weft = 0, fftw = 0;  // relative L2 over several rows; fftw NaN if this build has none
};
// kind: c2c, r2c, c2r (contiguous rows) or c2c-columns (c2c along axis -2); FFTW's always of contiguous rows.
Errors transform_errors(const std::string& kind, std::int64_t n);

// Bytes at the peak of a Toeplitz product beyond its inputs, outputs and the coefficients' spectra.
struct ExtraMemory {
  std::int64_t forward = 0;  // spectra kept from before
  std::int64_t train = 0;    // forward and backward, less (n+1)·d complex for the spectra
};
ExtraMemory toeplitz_memory(const Sizes& s, int threads);

}  // namespace weft::bench
