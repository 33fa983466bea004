// How many rows and vectors the kernels of products keep in registers and caches, by instruction set.
#pragma once
#include "dense/kernels/gemm.h"
#include "simd/simd.h"
#include "simd/unroll.h"

namespace weft::detail::WEFT_ISA {

using simd::Vec;

// The tile is mr rows of nv vectors: mr · nv sums, nv vectors of B and one broadcast of A, or the vectors of a panel's row of A
// where products take lanes of them, fill the registers. A panel of A (mr × kc) stays in L1, a block of B (kc × nc) in L2.
struct Blocks {
  int mr, nv;    // more rows: more sums for each load of B; as many as there are registers for
  int unrolled;  // units in the micro-kernel's loop
  // Longer blocks of k store and load C less often; shorter ones leave more of L1 to A's next panel and of L2 to B's.
  std::int64_t kc_f32, kc_f64, kc_bf16;
  // A task's share of C: large ones read packed blocks less often, small ones keep the threads busy to the end.
  std::int64_t mc, nc;
  int dot_rows, dot_columns;  // `dot` keeps dot_rows × dot_columns sums in registers
  int few_rows, few_vectors;  // `rows` keeps few_rows × few_vectors
  int panel_sums;             // `dot_panels` keeps so many
  // Of rows of A that are read where they are each unit is broadcast by a load. On NEON those, a third of the products,
  // take their ports, too; packing takes few instructions for each element, beside n / lanes products.
  RowsOfA rows_of_a = RowsOfA::in_place;
};
// bench: WEFT_ISA=… weft-bench --benchmark_filter='gemm-nn|linear'; few rows: 'gemm-nt(-cold)?/[0-9]*x2048x512'
#if WEFT_HAS_AVX512
inline constexpr Blocks blocks = {.mr = 12,
                                  .nv = 2,
                                  .unrolled = 4,
                                  .kc_f32 = 768,
                                  .kc_f64 = 384,
                                  .kc_bf16 = 2048,
                                  .mc = 120,
                                  .nc = 256,
                                  .dot_rows = 4,
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
                                  .dot_columns = 4,
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

// The first n elements of p, or a whole vector if there are more.
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
