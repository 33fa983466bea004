// The loops that measure the machine, compiled for each instruction set: multiply-adds in registers, a copy, and
// reading.
#pragma once
#include "simd/family.h"

namespace weft::bench {

struct FmaLoop {
  static constexpr std::string_view name = "fma_loop";
  float (*run)(long iterations, float factor, float term);
  double flops;  // per iteration: one multiply and one add for each lane of each accumulator
  int lanes;
  // Products of pairs of 16-bit integers (vpmaddwd). Quantized weights use them if the CPU has no products of four
  // bytes. Null on NEON, which has no such instruction.
  int (*pairs)(long iterations, int term);
  double pair_flops;                                   // per iteration
  void (*copy)(const float* from, float* to, long n);  // ordinary loads and stores
  float (*read)(const float* from, long n);  // returns a sum of the numbers, so that all except the last few are read
};

}  // namespace weft::bench
