// Runs two passes over blocks that are too large for L2 in one trip through memory. For each i, the radix1 · radix2
// rows i + stride2 q2 + stride1 q1 are closed under both passes. The rows of a few i are kept side by side in L1
// between the passes. In memory these rows are a power of two apart and would evict each other.
#pragma once
#include "spectral/kernels/fft_passes.h"

namespace weft::detail::WEFT_ISA {

// The maximum number of closed rows, and the number of i that are processed together. The buffer has as many rows as
// the product of both. Larger: the buffer leaves L1. Smaller wide_chunk: shorter runs of memory.
// bench: weft-bench --benchmark_filter='c2c-columns|toeplitz-cached/1x65536'
inline constexpr std::int64_t wide_radices = 64, wide_chunk = 4;

template <class T>
bool is_wide(const FftPass<T>& outer, const FftPass<T>& inner) noexcept {
  // A block with more bytes than this counts as larger than L2. Combining two passes saves trips through memory but
  // requires copies through the buffer. Larger: more trips through memory. Smaller: the copies cost more than the trips
  // that they save.
  // bench: weft-bench --benchmark_filter='c2c-columns|toeplitz-cached/1x65536'
  constexpr std::int64_t second_cache = 1 << 20;
  const auto is_common = [](std::int64_t radix) { return with_common_radix(radix, [](auto) {}); };
  return is_common(outer.radix) && is_common(inner.radix) &&
         outer.length * row_size<T> * static_cast<std::int64_t>(sizeof(T)) > second_cache &&
         outer.radix * inner.radix <= wide_radices;
}

// Runs the two consecutive passes `outer` and `inner` over the block that starts at row `base`. If `Up` is true, both
// are passes of decimation in time, otherwise of decimation in frequency. This function is in fft_in_place.cpp.
template <bool Up, class T>
void wide_pass(const FftPass<T>& outer, const FftPass<T>& inner, std::int64_t base, WorkRows<T> rows) noexcept;

}  // namespace weft::detail::WEFT_ISA
