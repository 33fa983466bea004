#include "dense/kernels/spatial_gate.h"

#include "simd/rows.h"

namespace weft::detail::WEFT_ISA {
namespace {

using simd::Vec;

// The number of columns whose sums stay in L1 while x is read row by row. Each row loads and stores a column's sum.
// This is faster than processing several rows at a time. Larger: the sums leave L1. Smaller: whole rows are no longer
// read as one stream, which is the fastest order for memory. If 2304 columns are split into 2048 columns and the rest,
// each part runs at a third of the speed. bench: weft-decode-bench --model large
constexpr std::int64_t columns_at_once = 4096;
// The number of vectors in one pass of the loop over a row. With a single load instruction in the loop, the prefetchers
// of Zen 4 fall behind: one thread then reads bf16 at 11 GB/s instead of 22 GB/s.
// bench: weft-decode-bench --model large --batch 8
constexpr int unrolled = 8;

template <class T>
void last(std::int64_t n, std::int64_t k, const Computed<T>* weight, Computed<T> bias, const T* x, std::int64_t x_row,
          const T* gate, T* y) noexcept {
  alignas(64) Computed<T> sums[columns_at_once];
  for (std::int64_t j = 0; j < n; j += columns_at_once) {
    const std::int64_t columns = n - j < columns_at_once ? n - j : columns_at_once;
    for (std::int64_t i = 0; i < columns; ++i) sums[i] = 0;
    for (std::int64_t p = 0; p < k; ++p) {
      const Vec<T> w(weight[p]);
      const T* row = x + p * x_row + j;
      simd::for_vectors<T, unrolled>(
          columns, [&](auto at) WEFT_INLINE { at.store(sums, simd::fma(w, at.load(row), at.load(sums))); });
    }
    simd::for_vectors<T>(
        columns, [&](auto at) noexcept { at.store(y + j, at.load(gate + j) * (at.load(sums) + Vec<T>(bias))); });
  }
}

template <class T>
constexpr SpatialGateKernels<T> table() {
  return {.last = last<T>};
}

}  // namespace
}  // namespace weft::detail::WEFT_ISA

WEFT_KERNEL_TABLES_AND_BF16(SpatialGateKernels)
