// The order of passes that keeps blocks in the caches.
#pragma once
#include "spectral/kernels/fft_passes.h"
#include "spectral/kernels/fft_wide.h"

namespace weft::detail::WEFT_ISA {

// If `Down` is true, runs passes `level` … end - 1 over `length` rows, starting at `base`, depth first. As soon as a
// block of rows fits into L1, runs all remaining passes over it there. Then calls leaf(base, length) for the block. If
// `Up` is true, then runs the passes of decimation in time in reverse order.
template <bool Down, bool Up, class T, class Leaf>
void descend(const FftView<T>& plan, std::int64_t level, std::int64_t end, T* work, std::int64_t base,
             std::int64_t length, const Leaf& leaf) noexcept {
  // The number of rows in 32 KiB, the size of an L1. Larger: rows leave L1 between their passes. Smaller: passes are
  // called more often and are shorter.
  // bench: weft-bench --benchmark_filter='c2c-columns|toeplitz-cached'
  constexpr std::int64_t leaf_rows = 32768 / (row_size<T> * static_cast<std::int64_t>(sizeof(T)));
  const WorkRows<T> rows{work};
  if (length <= leaf_rows || level >= end) {
    for (std::int64_t i = level; Down && i < end; ++i)
      run_frequency_pass(plan.pass[i], base, length / plan.pass[i].length, rows);
    leaf(base, length);
    for (std::int64_t i = end; Up && i-- > level;)
      run_time_pass(plan.pass[i], base, length / plan.pass[i].length, rows);
    return;
  }
  const FftPass<T>& pass = plan.pass[level];
  const bool wide = level + 1 < end && is_wide(pass, plan.pass[level + 1]);
  for (std::int64_t at = base; at < base + length; at += pass.length) {
    if (Down && wide) wide_pass<false>(pass, plan.pass[level + 1], at, rows);
    else if (Down) run_frequency_pass(pass, at, 1, rows);
    descend<Down, Up>(plan, level + (wide ? 2 : 1), end, work, at, pass.length, leaf);
    if (Up && wide) wide_pass<true>(pass, plan.pass[level + 1], at, rows);
    else if (Up) run_time_pass(pass, at, 1, rows);
  }
}

}  // namespace weft::detail::WEFT_ISA
