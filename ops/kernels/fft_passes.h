// The passes of a transform, in an order that keeps blocks in the first cache.
#pragma once
#include <type_traits>

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

// One transform of R rows: frequency decimation has the factors w behind, time decimation before the sum. `Twiddle`:
// whether w isn't 1.
template <bool Twiddle, class T, int R, class From, class To>
[[gnu::always_inline]] inline void frequency_rows(const FftPass<T>& p, const T* w, const From& from, const To& to) noexcept {
  ComplexVec<T> a[R];
  repeat<R>([&](auto q) WEFT_INLINE { a[q.value] = from.load(q.value); });
  Butterfly<T, R>::run(a, p.roots);
  to.store(0, a[0]);
  repeat<R - 1>([&](auto q) WEFT_INLINE {
    constexpr int j = decltype(q)::value + 1;
    to.store(j, Twiddle ? product(a[j], simd::Vec<T>(w[2 * j - 2]), simd::Vec<T>(w[2 * j - 1])) : a[j]);
  });
}

template <bool Twiddle, class T, int R, class From, class To>
[[gnu::always_inline]] inline void time_rows(const FftPass<T>& p, const T* w, const From& from, const To& to) noexcept {
  ComplexVec<T> a[R];
  a[0] = from.load(0);
  repeat<R - 1>([&](auto q) WEFT_INLINE {
    constexpr int j = decltype(q)::value + 1;
    a[j] = Twiddle ? product(from.load(j), simd::Vec<T>(w[2 * j - 2]), simd::Vec<T>(w[2 * j - 1])) : from.load(j);
  });
  Butterfly<T, R>::run(a, p.roots);
  repeat<R>([&](auto q) WEFT_INLINE { to.store(q.value, a[q.value]); });
}

// Calls rows(whether w isn't 1, w, from, to) for the rows of the first stride of each block, w their factors.
template <int R, class T, class Source, class Target, class Rows>
[[gnu::always_inline]] inline void for_rows(const FftPass<T>& p, std::int64_t base, std::int64_t blocks, Source source,
                                            Target target, const Rows& rows) noexcept {
  const std::int64_t stride = p.length / R;
  for (std::int64_t end = base + blocks * p.length; base < end; base += p.length) {
    auto from = source.at(base, stride);
    const T* w = p.twiddles;
    if constexpr (std::is_same_v<Source, Target>) {  // in place: one cursor
      rows(std::false_type(), w, from, from);
      for (std::int64_t i = 1; i < stride; ++i) {
        from.next();
        rows(std::true_type(), w += 2 * (R - 1), from, from);
      }
    } else {
      auto to = target.at(base, stride);
      rows(std::false_type(), w, from, to);
      for (std::int64_t i = 1; i < stride; ++i) {
        from.next();
        to.next();
        rows(std::true_type(), w += 2 * (R - 1), from, to);
      }
    }
  }
}

// A pass over `blocks` blocks from row `base` on; source and target may be the same rows.
template <int R, class T, class Source, class Target>
[[gnu::noinline, gnu::flatten]] void frequency_pass(const FftPass<T>& p, std::int64_t base, std::int64_t blocks,
                                                    Source source, Target target) noexcept {
  for_rows<R>(p, base, blocks, source, target, [&](auto twiddle, const T* w, const auto& from, const auto& to) noexcept {
    frequency_rows<twiddle.value, T, R>(p, w, from, to);
  });
}

template <int R, class T, class Source, class Target>
[[gnu::noinline, gnu::flatten]] void time_pass(const FftPass<T>& p, std::int64_t base, std::int64_t blocks,
                                               Source source, Target target) noexcept {
  for_rows<R>(p, base, blocks, source, target, [&](auto twiddle, const T* w, const auto& from, const auto& to) noexcept {
    time_rows<twiddle.value, T, R>(p, w, from, to);
  });
}

// The pass over blocks of R rows, in place: without factors the decimations are one.
template <int R, class T>
[[gnu::noinline, gnu::flatten]] void dense_pass(const FftPass<T>& p, std::int64_t base, std::int64_t blocks,
                                                WorkRows<T> rows) noexcept {
  for (std::int64_t end = base + blocks * R; base < end; base += R) {
    const auto at = rows.at(base, 1);
    frequency_rows<false, T, R>(p, nullptr, at, at);
  }
}

// The last pass of decimation in frequency, value(row, v) of what it leaves, and the first one of decimation in time.
template <int R, class T, class Value>
[[gnu::noinline, gnu::flatten]] void turn_pass(const FftPass<T>& p, std::int64_t base, std::int64_t blocks,
                                               WorkRows<T> rows, const Value& value) noexcept {
  for (std::int64_t end = base + blocks * R; base < end; base += R) {
    const auto at = rows.at(base, 1);
    ComplexVec<T> a[R];
    repeat<R>([&](auto q) WEFT_INLINE { a[q.value] = at.load(q.value); });
    Butterfly<T, R>::run(a, p.roots);
    repeat<R>([&](auto q) WEFT_INLINE { a[q.value] = value(base + q.value, a[q.value]); });
    Butterfly<T, R>::run(a, p.roots);
    repeat<R>([&](auto q) WEFT_INLINE { at.store(q.value, a[q.value]); });
  }
}

// The same with the bins to their places.
template <int R, class T, class Target>
[[gnu::noinline, gnu::flatten]] void last_pass(const FftView<T>& plan, std::int64_t base, std::int64_t blocks,
                                               WorkRows<T> rows, Target target) noexcept {
  const FftPass<T>& p = plan.pass[plan.passes - 1];
  const std::int64_t apart = plan.n / R;
  for (std::int64_t end = base + blocks * R; base < end; base += R)
    frequency_rows<false, T, R>(p, nullptr, rows.at(base, 1), target.at(plan.bin_of_row[base], apart));
}

template <class T, class Source, class Target>
void run_frequency_pass(const FftPass<T>& p, std::int64_t base, std::int64_t blocks, Source source,
                        Target target) noexcept {
  with_radix(p.radix, [&](auto r) noexcept {
    if constexpr (std::is_same_v<Source, Target>)
      if (p.length == r.value) return dense_pass<r.value>(p, base, blocks, source);
    frequency_pass<r.value>(p, base, blocks, source, target);
  });
}
template <class T, class Source, class Target>
void run_time_pass(const FftPass<T>& p, std::int64_t base, std::int64_t blocks, Source source, Target target) noexcept {
  with_radix(p.radix, [&](auto r) noexcept {
    if constexpr (std::is_same_v<Source, Target>)
      if (p.length == r.value) return dense_pass<r.value>(p, base, blocks, source);
    time_pass<r.value>(p, base, blocks, source, target);
  });
}
template <class T, class Target>
void run_last_pass(const FftView<T>& plan, std::int64_t base, std::int64_t blocks, WorkRows<T> rows,
                   Target target) noexcept {
  with_radix(plan.pass[plan.passes - 1].radix,
             [&](auto r) noexcept { last_pass<r.value>(plan, base, blocks, rows, target); });
}

template <class T, class Value>
void run_turn_pass(const FftPass<T>& p, std::int64_t base, std::int64_t blocks, WorkRows<T> rows,
                   const Value& value) noexcept {
  with_radix(p.radix, [&](auto r) noexcept { turn_pass<r.value>(p, base, blocks, rows, value); });
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
