// Two passes over blocks that are too large for the second cache, in one trip through memory. For a few i at a time, the
// radix1 · radix2 rows i + stride2 q2 + stride1 q1 are closed under both passes; they are kept side by side in the first
// cache between the two, as rows that are a power of two apart in memory would drive each other out of it.
#pragma once
#include "spectral/kernels/fft_passes.h"

namespace weft::detail::WEFT_ISA {

// The most rows that are closed, and i at a time: the buffer, their product of rows, stays in L1; fewer i make shorter
// runs of memory. bench: weft-bench --benchmark_filter='c2c-columns|toeplitz-cached/1x65536'
inline constexpr std::int64_t wide_radices = 64, wide_chunk = 4;

template <class T>
bool is_wide(const FftPass<T>& outer, const FftPass<T>& inner) noexcept {
  // Bytes, above which a block is taken for larger than L2: two passes at once save trips through memory, at the price
  // of moves through the buffer. bench: as above
  constexpr std::int64_t second_cache = 1 << 20;
  const auto is_common = [](std::int64_t radix) { return with_common_radix(radix, [](auto) {}); };
  return is_common(outer.radix) && is_common(inner.radix) &&
         outer.length * row_size<T> * static_cast<std::int64_t>(sizeof(T)) > second_cache &&
         outer.radix * inner.radix <= wide_radices;
}

// Passes `outer` and `inner` = the next one over the block from row `base` on, or (Up) decimation in time by both
// (fft_in_place.cpp).
template <bool Up, class T>
void wide_pass(const FftPass<T>& outer, const FftPass<T>& inner, std::int64_t base, WorkRows<T> rows) noexcept;

}  // namespace weft::detail::WEFT_ISA
