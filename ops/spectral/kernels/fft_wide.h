// Two passes over blocks that are too large for the second cache, in one trip through memory. For a few i at a time, the
// radix1 · radix2 rows i + stride2 q2 + stride1 q1 are closed under both passes; they are kept side by side in the first
// cache between the two, as rows that are a power of two apart in memory would drive each other out of it.
#pragma once
#include "spectral/kernels/fft_passes.h"

namespace weft::detail::WEFT_ISA {

template <int R, class T, class Cursor>
[[gnu::noinline]] WEFT_FLATTEN void frequency_chunk(const FftPass<T>& p, std::int64_t first, std::int64_t count,
                                                    Cursor from, Cursor to) noexcept {
  const T* w = p.twiddles + first * 2 * (R - 1);
  for (std::int64_t i = 0; i < count; ++i, w += 2 * (R - 1)) {
    frequency_rows<true, T, R>(p, w, from, to);
    from.next();
    to.next();
  }
}

template <int R, class T, class Cursor>
[[gnu::noinline]] WEFT_FLATTEN void time_chunk(const FftPass<T>& p, std::int64_t first, std::int64_t count, Cursor from,
                                               Cursor to) noexcept {
  const T* w = p.twiddles + first * 2 * (R - 1);
  for (std::int64_t i = 0; i < count; ++i, w += 2 * (R - 1)) {
    time_rows<true, T, R>(p, w, from, to);
    from.next();
    to.next();
  }
}

// The most rows that are closed, and i at a time: the buffer, their product of rows, stays in L1; fewer i make shorter
// runs of memory. bench: weft-bench --benchmark_filter='c2c-columns|toeplitz-cached/1x65536'
inline constexpr std::int64_t wide_radices = 64, wide_chunk = 4;

template <class T>
bool is_wide(const FftPass<T>& outer, const FftPass<T>& inner) noexcept {
  // Bytes, above which a block is taken for larger than L2: two passes at once save trips through memory, at the price
  // of moves through the buffer. bench: as above
  constexpr std::int64_t second_cache = 1 << 20;
  return outer.length * row_size<T> * static_cast<std::int64_t>(sizeof(T)) > second_cache &&
         outer.radix * inner.radix <= wide_radices;
}

// Passes `outer` and `inner` = the next one over the block from row `base` on, or (Up) decimation in time by both.
template <bool Up, class T>
void wide_pass(const FftPass<T>& outer, const FftPass<T>& inner, std::int64_t base, WorkRows<T> rows) noexcept {
  alignas(64) T buffer[wide_radices * wide_chunk * row_size<T>];
  const WorkRows<T> near{buffer};
  const std::int64_t stride1 = inner.length, stride2 = inner.length / inner.radix;
  for (std::int64_t i = 0; i < stride2; i += wide_chunk) {
    const std::int64_t count = stride2 - i < wide_chunk ? stride2 - i : wide_chunk;
    const auto outer_step = [&](std::int64_t q) noexcept {
      const auto far_rows = rows.at(base + i + stride2 * q, stride1);
      const auto near_rows = near.at(q * wide_chunk, inner.radix * wide_chunk);
      with_radix(outer.radix, [&](auto r) noexcept {
        if (Up) time_chunk<r.value>(outer, i + stride2 * q, count, near_rows, far_rows);
        else frequency_chunk<r.value>(outer, i + stride2 * q, count, far_rows, near_rows);
      });
    };
    const auto inner_step = [&](std::int64_t j) noexcept {
      const auto far_rows = rows.at(base + i + stride1 * j, stride2);
      const auto near_rows = near.at(j * inner.radix * wide_chunk, wide_chunk);
      with_radix(inner.radix, [&](auto r) noexcept {
        if (Up) time_chunk<r.value>(inner, i, count, far_rows, near_rows);
        else frequency_chunk<r.value>(inner, i, count, near_rows, far_rows);
      });
    };
    for (std::int64_t j = 0; Up && j < outer.radix; ++j) inner_step(j);
    for (std::int64_t q = 0; q < inner.radix; ++q) outer_step(q);
    for (std::int64_t j = 0; !Up && j < outer.radix; ++j) inner_step(j);
  }
}

}  // namespace weft::detail::WEFT_ISA
