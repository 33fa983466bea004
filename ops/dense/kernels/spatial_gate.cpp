#include "dense/kernels/spatial_gate.h"

#include "simd/rows.h"
#include "simd/unroll.h"

namespace weft::detail::WEFT_ISA {
namespace {

using simd::Vec;

// Columns whose sums stay in L1 while rows of x are read from end to end, as memory likes it; and rows that are added in
// one go. bench: weft-decode-bench --batch 8
constexpr std::int64_t columns_at_once = 1024;
constexpr int rows_at_once = 4;

// sums[j] = or += Σ_(r < R) weight[r] x[r · x_row + j], in the order of r. Prefetches as many rows that follow.
template <int R, class T>
void add_rows(std::int64_t n, const Computed<T>* weight, const T* x, std::int64_t x_row, Computed<T>* sums,
              bool accumulate) noexcept {
  Vec<T> w[R];
  repeat<R>([&](auto r) WEFT_INLINE { w[r.value] = Vec<T>(weight[r.value]); });
  simd::for_vectors<T>(n, [&](auto at) WEFT_INLINE {
    Vec<T> sum = accumulate ? at.load(sums) : Vec<T>(0);
    repeat<R>([&](auto r) WEFT_INLINE {
      at.prefetch(x + (R + r.value) * x_row);
      sum = simd::fma(w[r.value], at.load(x + r.value * x_row), sum);
    });
    at.store(sums, sum);
  });
}

template <class T>
void last(std::int64_t n, std::int64_t k, const Computed<T>* weight, Computed<T> bias, const T* x, std::int64_t x_row,
          const T* gate, T* y) noexcept {
  alignas(64) Computed<T> sums[columns_at_once];
  for (std::int64_t j = 0; j < n; j += columns_at_once) {
    const std::int64_t columns = n - j < columns_at_once ? n - j : columns_at_once;
    std::int64_t p = 0;
    for (; p + rows_at_once <= k; p += rows_at_once)
      add_rows<rows_at_once>(columns, weight + p, x + p * x_row + j, x_row, sums, p > 0);
    for (; p < k; ++p) add_rows<1>(columns, weight + p, x + p * x_row + j, x_row, sums, p > 0);
    simd::for_vectors<T>(
        columns, [&](auto at) WEFT_INLINE { at.store(y + j, at.load(gate + j) * (at.load(sums) + Vec<T>(bias))); });
  }
}

template <class T>
constexpr SpatialGateKernels<T> table() {
  return {.last = last<T>};
}

}  // namespace
}  // namespace weft::detail::WEFT_ISA

WEFT_KERNEL_TABLES_AND_BF16(SpatialGateKernels)
