// The passes that work in place. All transform kernels share them, because they are most of the kernels' machine code.
#include "spectral/kernels/fft_passes.h"
#include "spectral/kernels/fft_wide.h"

namespace weft::detail::WEFT_ISA {
namespace {

// Calls f(Index<radix>{}).
template <class F>
void with_radix(std::int64_t radix, const F& f) noexcept {
  if (with_common_radix(radix, f)) return;
  switch (radix) {
    case 1: f(Index<1>{}); break;
    case 7: f(Index<7>{}); break;
    case 11: f(Index<11>{}); break;
    default: f(Index<13>{}); break;
  }
}

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

}  // namespace

template <class T>
void run_frequency_pass(const FftPass<T>& p, std::int64_t base, std::int64_t blocks, WorkRows<T> rows) noexcept {
  with_radix(p.radix, [&](auto r) noexcept {
    if (p.length == r.value) dense_pass<r.value>(p, base, blocks, rows, rows);
    else frequency_pass<r.value>(p, base, blocks, rows, rows);
  });
}
template <class T>
void run_time_pass(const FftPass<T>& p, std::int64_t base, std::int64_t blocks, WorkRows<T> rows) noexcept {
  with_radix(p.radix, [&](auto r) noexcept {
    if (p.length == r.value) dense_pass<r.value>(p, base, blocks, rows, rows);
    else time_pass<r.value>(p, base, blocks, rows, rows);
  });
}

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
      with_common_radix(outer.radix, [&](auto r) noexcept {
        if (Up) time_chunk<r.value>(outer, i + stride2 * q, count, near_rows, far_rows);
        else frequency_chunk<r.value>(outer, i + stride2 * q, count, far_rows, near_rows);
      });
    };
    const auto inner_step = [&](std::int64_t j) noexcept {
      const auto far_rows = rows.at(base + i + stride1 * j, stride2);
      const auto near_rows = near.at(j * inner.radix * wide_chunk, wide_chunk);
      with_common_radix(inner.radix, [&](auto r) noexcept {
        if (Up) time_chunk<r.value>(inner, i, count, far_rows, near_rows);
        else frequency_chunk<r.value>(inner, i, count, near_rows, far_rows);
      });
    };
    for (std::int64_t j = 0; Up && j < outer.radix; ++j) inner_step(j);
    for (std::int64_t q = 0; q < inner.radix; ++q) outer_step(q);
    for (std::int64_t j = 0; !Up && j < outer.radix; ++j) inner_step(j);
  }
}

template void run_frequency_pass(const FftPass<float>&, std::int64_t, std::int64_t, WorkRows<float>) noexcept;
template void run_frequency_pass(const FftPass<double>&, std::int64_t, std::int64_t, WorkRows<double>) noexcept;
template void run_time_pass(const FftPass<float>&, std::int64_t, std::int64_t, WorkRows<float>) noexcept;
template void run_time_pass(const FftPass<double>&, std::int64_t, std::int64_t, WorkRows<double>) noexcept;
template void wide_pass<false>(const FftPass<float>&, const FftPass<float>&, std::int64_t, WorkRows<float>) noexcept;
template void wide_pass<false>(const FftPass<double>&, const FftPass<double>&, std::int64_t, WorkRows<double>) noexcept;
template void wide_pass<true>(const FftPass<float>&, const FftPass<float>&, std::int64_t, WorkRows<float>) noexcept;
template void wide_pass<true>(const FftPass<double>&, const FftPass<double>&, std::int64_t, WorkRows<double>) noexcept;

}  // namespace weft::detail::WEFT_ISA
