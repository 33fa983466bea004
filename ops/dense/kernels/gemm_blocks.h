// For each instruction set, the numbers of rows and vectors that product kernels keep in registers and caches.
#pragma once
#include "dense/kernels/gemm.h"
#include "simd/simd.h"
#include "simd/unroll.h"

namespace weft::detail::WEFT_ISA {

using simd::Vec;

// A tile is mr rows of nv vectors. The registers hold mr · nv sums, nv vectors of B, and one broadcast of A. If the
// instruction set has products with one lane of a vector (NEON), the registers hold the vectors of one row of A's panel
// instead of the broadcast. A panel of A (mr × kc) stays in L1, a block of B (kc × nc) in L2.
struct Blocks {
  int mr, nv;    // Larger mr: more sums for each load of B, limited by the registers
  int unrolled;  // units per iteration of the micro-kernel's loop
  // Larger kc: C is stored and loaded less often. Smaller: more space in L1 for A's next panel and in L2 for B's.
  std::int64_t kc_f32, kc_f64, kc_bf16;
  // The size of a task's part of C. Larger: packed blocks are read less often. Smaller: the threads finish at the same
  // time.
  std::int64_t mc, nc;
  int dot_rows, dot_columns;  // `dot` keeps dot_rows × dot_columns sums in registers, each of dot_lanes partial sums
  int few_rows, few_vectors;  // `rows` keeps few_rows × few_vectors sums
  int panel_sums;             // `dot_panels` keeps this many sums
  // If rows of A are read in place, a load broadcasts each unit. On NEON there is one such load for three products, and
  // this load occupies execution ports that the products need. Packing A takes few instructions per element, compared
  // with the n / lanes products per element.
  RowsOfA rows_of_a = RowsOfA::in_place;
};
// bench: WEFT_ISA=… weft-bench --benchmark_filter='gemm-nn|linear'. For few rows: 'gemm-nt(-cold)?/[0-9]*x2048x512'
#if WEFT_HAS_AVX512
inline constexpr Blocks blocks = {.mr = 12,
                                  .nv = 2,
                                  .unrolled = 4,
                                  .kc_f32 = 768,
                                  .kc_f64 = 384,
                                  .kc_bf16 = 2048,
                                  .mc = 120,
                                  .nc = 256,
                                  .dot_rows = 8,
                                  .dot_columns = 4,
                                  .few_rows = 8,
                                  .few_vectors = 3,
                                  .panel_sums = 16};
#elif WEFT_HAS_AVX2
inline constexpr Blocks blocks = {.mr = 6,
                                  .nv = 2,
                                  .unrolled = 4,
                                  .kc_f32 = 768,
                                  .kc_f64 = 384,
                                  .kc_bf16 = 1024,
                                  .mc = 120,
                                  .nc = 256,
                                  .dot_rows = 4,
                                  .dot_columns = 3,
                                  .few_rows = 4,
                                  .few_vectors = 3,
                                  .panel_sums = 8};
#elif WEFT_HAS_NEON
inline constexpr Blocks blocks = {.mr = 8,
                                  .nv = 3,
                                  .unrolled = 8,
                                  .kc_f32 = 256,
                                  .kc_f64 = 256,
                                  .kc_bf16 = 1024,
                                  .mc = 120,
                                  .nc = 252,
                                  .dot_rows = 4,
                                  .dot_columns = 3,
                                  .few_rows = 8,
                                  .few_vectors = 3,
                                  .panel_sums = 16,
                                  .rows_of_a = RowsOfA::packed};
#else
inline constexpr Blocks blocks = {.mr = 4,
                                  .nv = 2,
                                  .unrolled = 4,
                                  .kc_f32 = 256,
                                  .kc_f64 = 256,
                                  .kc_bf16 = 1024,
                                  .mc = 120,
                                  .nc = 256,
                                  .dot_rows = 2,
                                  .dot_columns = 4,
                                  .few_rows = 4,
                                  .few_vectors = 2,
                                  .panel_sums = 8};
#endif

// The number of partial sums of each sum of `dot`: 32 bytes with fused multiply-adds, so that all instruction sets that
// have them add in the same order.
template <class T>
inline constexpr int dot_lanes = WEFT_HAS_FMA ? 32 / int{sizeof(Computed<T>)} : int{simd::lanes<T>};

// Reads the first n elements of p, or a whole vector if there are more.
template <class T>
WEFT_INLINE inline Vec<T> read(const T* p, std::int64_t n) noexcept {
  return n < simd::lanes<T> ? simd::load_n(p, n) : simd::load(p);
}

template <class T>
WEFT_INLINE inline void write(T* p, Vec<T> v, std::int64_t n) noexcept {
  if (n < simd::lanes<T>) simd::store_n(p, v, n);
  else simd::store(p, v);
}

template <class T>
void put(T* to, T value, bool accumulate) noexcept {
  *to = accumulate ? *to + value : value;
}

}  // namespace weft::detail::WEFT_ISA
