// The machine: its name, and its limits as Work.
#pragma once
#include <cstdint>
#include <string>

#include "machine/work.h"

namespace weft::bench {

std::string cpu_name();  // "unknown" if the system doesn't say

std::int64_t last_level_cache();  // bytes; 0 if the system doesn't say

Work fma_work(int threads);        // in the current context's instruction set
Work bf16_peak_work(int threads);  // pairs of bf16 that the instruction set multiplies; if it has none, fma_work
Work int8_peak_work(int threads);  // of four bytes, else of pairs of 16 bits; if it has neither, fma_work
Work read_work(std::function<const float*()> next, std::int64_t n, int threads);  // of n numbers from next() on
Work copy_work(std::int64_t bytes, int threads);  // memcpy by pieces; `bytes` counts reads and writes

struct Limits {
  double fma_gflops;  // the best of several
  double copy_gbs;    // read and written, of `copy_bytes`
};
constexpr std::int64_t copy_bytes = std::int64_t{512} << 20;
const Limits& limits(int threads);                     // measured when first asked for
double flops_a_cycle();                                // of one thread: two FMA units, a vector each
double plain_copy_seconds(double bytes, int threads);  // with ordinary stores, of bytes/2 read and bytes/2 written

}  // namespace weft::bench
