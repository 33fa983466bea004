// The loops that measure the machine, for each instruction set: multiply-adds in registers, a copy, and reading.
#pragma once
#include "simd/family.h"

namespace weft::bench {

struct FmaLoop {
  static constexpr std::string_view name = "fma_loop";
  float (*run)(long iterations, float factor, float term);
  double flops;  // an iteration: a multiply and an add for each lane of each accumulator
  int lanes;
  // Products of pairs of 16 bits, vpmaddwd and the like, which quantised weights take without products of four bytes.
  // Null where there are none (NEON).
  int (*pairs)(long iterations, int term);
  double pair_flops;                                   // an iteration
  void (*copy)(const float* from, float* to, long n);  // ordinary loads and stores
  float (*read)(const float* from, long n);            // the sum of all but a last few
};

}  // namespace weft::bench
