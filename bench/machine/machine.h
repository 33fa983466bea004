// The name of the machine, and its limits as Work.
#pragma once
#include <cstdint>
#include <string>

#include "machine/work.h"

namespace weft::bench {

std::string cpu_name();  // "unknown" if the system does not report it

std::int64_t last_level_cache();  // bytes; 0 if unknown

Work fma_work(int threads);        // multiply-adds in the context's instruction set
Work bf16_peak_work(int threads);  // products of bf16 pairs; fma_work if the instruction set has none
Work int8_peak_work(int threads);  // products of four bytes or of 16-bit pairs; fma_work if it has neither
Work read_work(std::function<const float*()> next, std::int64_t n, int threads);  // reads n numbers from next()
Work copy_work(std::int64_t bytes, int threads);  // memcpy, divided among threads; counts bytes read and written

struct Limits {
  double fma_gflops;  // the maximum of several runs
  double copy_gbs;    // bytes read and written per second, for copies of `copy_bytes`
};
constexpr std::int64_t copy_bytes = std::int64_t{512} << 20;
const Limits& limits(int threads);                     // measured on the first call
double flops_a_cycle();                                // per thread: two FMA units with one vector each
double plain_copy_seconds(double bytes, int threads);  // ordinary stores; reads bytes/2 and writes bytes/2

}  // namespace weft::bench
