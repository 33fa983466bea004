// Two passes over blocks that are too large for L2, in one trip through memory. For a few i at a time, these
// radix1 · radix2 rows are closed under both passes: i + stride2 q2 + stride1 q1. Between the passes they are kept side
// by side in L1. In memory these rows are a power of two apart and would evict each other.
#pragma once
#include "spectral/kernels/fft_passes.h"

namespace weft::detail::WEFT_ISA {

// The maximum number of closed rows, and the number of i at a time. Larger: the buffer, with the product of both as its
// number of rows, leaves L1. Smaller wide_chunk: shorter runs of memory.
// bench: weft-bench --benchmark_filter='c2c-columns|toeplitz-cached/1x65536'
inline constexpr std::int64_t wide_radices = 64, wide_chunk = 4;

template <class T>
bool is_wide(const FftPass<T>& outer, const FftPass<T>& inner) noexcept {
  // A block of more bytes than this counts as larger than L2. Two passes at once save trips through memory but copy
  // through the buffer. Larger: more trips through memory. Smaller: more copies than trips are worth.
  // bench: weft-bench --benchmark_filter='c2c-columns|toeplitz-cached/1x65536'
  constexpr std::int64_t second_cache = 1 << 20;
  const auto is_common = [](std::int64_t radix) { return with_common_radix(radix, [](auto) {}); };
  return is_common(outer.radix) && is_common(inner.radix) &&
         outer.length * row_size<T> * static_cast<std::int64_t>(sizeof(T)) > second_cache &&
         outer.radix * inner.radix <= wide_radices;
}

// Runs the passes `outer` and `inner`, which follow each other, over the block that starts at row `base`, or (Up)
// decimation in time by both (fft_in_place.cpp).
template <bool Up, class T>
void wide_pass(const FftPass<T>& outer, const FftPass<T>& inner, std::int64_t base, WorkRows<T> rows) noexcept;

}  // namespace weft::detail::WEFT_ISA
