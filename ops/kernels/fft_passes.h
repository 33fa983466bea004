// The passes of a transform, in an order that keeps blocks in the first cache.
#pragma once
#include "fft_rows.h"

namespace weft::WEFT_ISA {

// Calls f(Index<radix>{}).
template <class F>
inline void with_radix(std::int64_t radix, const F& f) noexcept {
  switch (radix) {
    case 1: f(Index<1>{}); break;
    case 2: f(Index<2>{}); break;
    case 3: f(Index<3>{}); break;
    case 4: f(Index<4>{}); break;
    case 5: f(Index<5>{}); break;
    case 7: f(Index<7>{}); break;
    case 8: f(Index<8>{}); break;
    case 11: f(Index<11>{}); break;
    case 13: f(Index<13>{}); break;
    default: f(Index<16>{}); break;
  }
}

// Row i of the strides of one block: loads, transform, factors, stores. `Twiddle`: whether w isn't 1.
template <bool Twiddle, class T, int R, class From, class To>
[[gnu::always_inline]] inline void frequency_rows(const FftPass<T>& p, const T* w, const From& from, const To& to) noexcept {
  ComplexVec<T> a[R];
  repeat<R>([&](auto q) noexcept { a[q.value] = from(q.value); });
  Butterfly<T, R>::run(a, p.roots);
  to(0, a[0]);
  repeat<R - 1>([&](auto q) noexcept {
    constexpr int j = decltype(q)::value + 1;
    to(j, Twiddle ? product(a[j], simd::Vec<T>(w[2 * j - 2]), simd::Vec<T>(w[2 * j - 1])) : a[j]);
  });
}

template <bool Twiddle, class T, int R, class From, class To>
[[gnu::always_inline]] inline void time_rows(const FftPass<T>& p, const T* w, const From& from, const To& to) noexcept {
  ComplexVec<T> a[R];
  a[0] = from(0);
  repeat<R - 1>([&](auto q) noexcept {
    constexpr int j = decltype(q)::value + 1;
    a[j] = Twiddle ? product(from(j), simd::Vec<T>(w[2 * j - 2]), simd::Vec<T>(w[2 * j - 1])) : from(j);
  });
  Butterfly<T, R>::run(a, p.roots);
  repeat<R>([&](auto q) noexcept { to(q.value, a[q.value]); });
}

// A pass over `blocks` blocks from row `base` on; source and target may be the same rows.
template <int R, class T, class Source, class Target>
[[gnu::noinline]] void frequency_pass(const FftPass<T>& p, std::int64_t base, std::int64_t blocks, Source source,
                                      Target target) noexcept {
  const std::int64_t stride = p.length / R;
  for (std::int64_t end = base + blocks * p.length; base < end; base += p.length) {
    const T* w = p.twiddles;
    for (std::int64_t i = 0; i < stride; ++i, w += 2 * (R - 1)) {
      const auto from = [&](int q) noexcept { return source.load(base + i + q * stride); };
      const auto to = [&](int j, ComplexVec<T> v) noexcept { target.store(base + i + j * stride, v); };
      if (i == 0) frequency_rows<false, T, R>(p, w, from, to);
      else frequency_rows<true, T, R>(p, w, from, to);
    }
  }
}

template <int R, class T, class Source, class Target>
[[gnu::noinline]] void time_pass(const FftPass<T>& p, std::int64_t base, std::int64_t blocks, Source source,
                                 Target target) noexcept {
  const std::int64_t stride = p.length / R;
  for (std::int64_t end = base + blocks * p.length; base < end; base += p.length) {
    const T* w = p.twiddles;
    for (std::int64_t i = 0; i < stride; ++i, w += 2 * (R - 1)) {
      const auto from = [&](int q) noexcept { return source.load(base + i + q * stride); };
      const auto to = [&](int j, ComplexVec<T> v) noexcept { target.store(base + i + j * stride, v); };
      if (i == 0) time_rows<false, T, R>(p, w, from, to);
      else time_rows<true, T, R>(p, w, from, to);
    }
  }
}

// The last pass of decimation in frequency, in blocks of R rows, with the bins in their places.
template <int R, class T, class Source, class Target>
[[gnu::noinline]] void last_pass(const FftView<T>& plan, std::int64_t base, std::int64_t blocks, Source source,
                                 Target target) noexcept {
  const FftPass<T>& p = plan.pass[plan.passes - 1];
  const std::int64_t apart = plan.n / R;
  for (std::int64_t end = base + blocks * R; base < end; base += R) {
    const std::int64_t bin = plan.bin_of_row[base];
    const auto from = [&](int q) noexcept { return source.load(base + q); };
    const auto to = [&](int j, ComplexVec<T> v) noexcept { target.store(bin + j * apart, v); };
    frequency_rows<false, T, R>(p, nullptr, from, to);
  }
}

template <class T, class Source, class Target>
void run_frequency_pass(const FftPass<T>& p, std::int64_t base, std::int64_t blocks, Source source,
                        Target target) noexcept {
  with_radix(p.radix, [&](auto r) noexcept { frequency_pass<r.value>(p, base, blocks, source, target); });
}
template <class T, class Source, class Target>
void run_time_pass(const FftPass<T>& p, std::int64_t base, std::int64_t blocks, Source source, Target target) noexcept {
  with_radix(p.radix, [&](auto r) noexcept { time_pass<r.value>(p, base, blocks, source, target); });
}
template <class T, class Source, class Target>
void run_last_pass(const FftView<T>& plan, std::int64_t base, std::int64_t blocks, Source source,
                   Target target) noexcept {
  with_radix(plan.pass[plan.passes - 1].radix,
             [&](auto r) noexcept { last_pass<r.value>(plan, base, blocks, source, target); });
}

// Passes `level` … end - 1 over `length` rows from `base` on, depth first: once rows fit into the first cache, all their
// passes are done there, then leaf(base, length), then (Up) decimation in time in the reverse order.
template <bool Down, bool Up, class T, class Leaf>
void descend(const FftView<T>& plan, std::int64_t level, std::int64_t end, T* work, std::int64_t base,
             std::int64_t length, const Leaf& leaf) noexcept {
  constexpr std::int64_t leaf_rows = 32768 / (row_size<T> * static_cast<std::int64_t>(sizeof(T)));
  const WorkRows<T> rows{work};
  if (length <= leaf_rows || level >= end) {
    for (std::int64_t i = level; Down && i < end; ++i)
      run_frequency_pass(plan.pass[i], base, length / plan.pass[i].length, rows, rows);
    leaf(base, length);
    for (std::int64_t i = end; Up && i-- > level;)
      run_time_pass(plan.pass[i], base, length / plan.pass[i].length, rows, rows);
    return;
  }
  const std::int64_t block = plan.pass[level].length;
  for (std::int64_t at = base; at < base + length; at += block) {
    if (Down) run_frequency_pass(plan.pass[level], at, 1, rows, rows);
    descend<Down, Up>(plan, level + 1, end, work, at, block, leaf);
    if (Up) run_time_pass(plan.pass[level], at, 1, rows, rows);
  }
}

}  // namespace weft::WEFT_ISA
