// The loops that measure the machine, for each instruction set: multiply-adds in registers, a copy, and reading.
#pragma once
#include "simd/family.h"

namespace weft::bench {

struct FmaLoop {
  static constexpr std::string_view name = "fma_loop";
  float (*run)(long iterations, float factor, float term);
  double flops;  // per iteration: a multiply and an add for each lane of each accumulator
  int lanes;
  // Products of pairs of 16 bits (vpmaddwd). Quantized weights use them where there are no products of four bytes.
  // Null on NEON, which has no such products.
  int (*pairs)(long iterations, int term);
  double pair_flops;                                   // per iteration
  void (*copy)(const float* from, float* to, long n);  // ordinary loads and stores
  float (*read)(const float* from, long n);            // the sum of all except the last few
};

}  // namespace weft::bench
