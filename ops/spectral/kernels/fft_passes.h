// The passes of a transform.
#pragma once
#include <type_traits>

#include "spectral/kernels/fft_rows.h"

namespace weft::detail::WEFT_ISA {

// Calls f(Index<radix>{}) for the radices that most lengths have; false for others.
template <class F>
inline bool with_common_radix(std::int64_t radix, const F& f) noexcept {
  switch (radix) {
    case 2: f(Index<2>{}); return true;
    case 3: f(Index<3>{}); return true;
    case 4: f(Index<4>{}); return true;
    case 5: f(Index<5>{}); return true;
    case 8: f(Index<8>{}); return true;
    case 16: f(Index<16>{}); return true;
    default: return false;
  }
}
// Those that the passes from and to other memory are compiled for: in f64, where a pass more costs less than an eighth of
// the library, none.
template <class T, class F>
inline bool with_fused_radix(std::int64_t radix, const F& f) noexcept {
  if constexpr (std::is_same_v<T, float>) return with_common_radix(radix, f);
  else return false;
}

// One transform of R rows: frequency decimation has the factors w behind, time decimation before the sum. `Twiddle`:
// whether w isn't 1.
template <bool Twiddle, class T, int R, class From, class To>
WEFT_INLINE inline void frequency_rows(const FftPass<T>& p, const T* w, const From& from, const To& to) noexcept {
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
WEFT_INLINE inline void time_rows(const FftPass<T>& p, const T* w, const From& from, const To& to) noexcept {
  ComplexVec<T> a[R];
  a[0] = from.load(0);
  repeat<R - 1>([&](auto q) WEFT_INLINE {
    constexpr int j = decltype(q)::value + 1;
    a[j] = Twiddle ? product(from.load(j), simd::Vec<T>(w[2 * j - 2]), simd::Vec<T>(w[2 * j - 1])) : from.load(j);
  });
  Butterfly<T, R>::run(a, p.roots);
  repeat<R>([&](auto q) WEFT_INLINE { to.store(q.value, a[q.value]); });
}

// Calls rows(whether w isn't 1, w, from, to) for the rows of the first stride of each block, w their factors. From and to
// other memory, in the longest strides, the first factors are as the others.
template <int R, class T, class Source, class Target, class Rows>
WEFT_INLINE inline void for_rows(const FftPass<T>& p, std::int64_t base, std::int64_t blocks, Source source,
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
      for (std::int64_t i = 0; i < stride; ++i, w += 2 * (R - 1), from.next(), to.next())
        rows(std::true_type(), w, from, to);
    }
  }
}

// A pass over `blocks` blocks from row `base` on; source and target may be the same rows.
template <int R, class T, class Source, class Target>
[[gnu::noinline]] WEFT_FLATTEN void frequency_pass(const FftPass<T>& p, std::int64_t base, std::int64_t blocks,
                                                   Source source, Target target) noexcept {
  for_rows<R>(p, base, blocks, source, target,
              [&](auto twiddle, const T* w, const auto& from, const auto& to) noexcept {
                frequency_rows<twiddle.value, T, R>(p, w, from, to);
              });
}

template <int R, class T, class Source, class Target>
[[gnu::noinline]] WEFT_FLATTEN void time_pass(const FftPass<T>& p, std::int64_t base, std::int64_t blocks,
                                              Source source, Target target) noexcept {
  for_rows<R>(p, base, blocks, source, target,
              [&](auto twiddle, const T* w, const auto& from, const auto& to) noexcept {
                time_rows<twiddle.value, T, R>(p, w, from, to);
              });
}

// The pass over blocks of R rows: without factors the decimations are one.
template <int R, class T, class Source, class Target>
[[gnu::noinline]] WEFT_FLATTEN void dense_pass(const FftPass<T>& p, std::int64_t base, std::int64_t blocks,
                                               Source source, Target target) noexcept {
  for (std::int64_t end = base + blocks * R; base < end; base += R)
    frequency_rows<false, T, R>(p, nullptr, source.at(base, 1), target.at(base, 1));
}

// The one pass of a plan of R, of so many sequences, each with a source and a target of its own.
template <int R, class T, class Sources, class Targets>
[[gnu::noinline]] WEFT_FLATTEN void only_pass(const FftPass<T>& p, std::int64_t sequences, Sources sources,
                                              Targets targets) noexcept {
  for (std::int64_t s = 0; s < sequences; ++s)
    frequency_rows<false, T, R>(p, nullptr, sources.of(s).at(0, 1), targets.of(s).at(0, 1));
}

// The last pass of decimation in frequency, value(row, v) of what it leaves, and the first one of decimation in time.
template <int R, class T, class Value>
[[gnu::noinline]] WEFT_FLATTEN void turn_pass(const FftPass<T>& p, std::int64_t base, std::int64_t blocks,
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
[[gnu::noinline]] WEFT_FLATTEN void last_pass(const FftView<T>& plan, std::int64_t base, std::int64_t blocks,
                                              WorkRows<T> rows, Target target) noexcept {
  const FftPass<T>& p = plan.pass[plan.passes - 1];
  const std::int64_t apart = plan.n / R;
  for (std::int64_t end = base + blocks * R; base < end; base += R)
    frequency_rows<false, T, R>(p, nullptr, rows.at(base, 1), target.at(plan.bin_of_row[base], apart));
}

// In place over `blocks` blocks (fft_in_place.cpp).
template <class T>
void run_frequency_pass(const FftPass<T>& p, std::int64_t base, std::int64_t blocks, WorkRows<T> rows) noexcept;
template <class T>
void run_time_pass(const FftPass<T>& p, std::int64_t base, std::int64_t blocks, WorkRows<T> rows) noexcept;

// The first pass of decimation in frequency from `source`.
template <class T, class Source>
void run_first_pass(const FftPass<T>& p, Source source, WorkRows<T> rows) noexcept {
  if (with_fused_radix<T>(p.radix, [&](auto r) noexcept { frequency_pass<r.value>(p, 0, 1, source, rows); })) return;
  for (std::int64_t k = 0; k < p.length; ++k) rows.store(k, source.at(k, 0).load(0));
  run_frequency_pass(p, 0, 1, rows);
}

// The last pass of decimation in time to `target`.
template <class T, class Target>
void run_final_pass(const FftPass<T>& p, WorkRows<T> rows, Target target) noexcept {
  if (with_fused_radix<T>(p.radix, [&](auto r) noexcept { time_pass<r.value>(p, 0, 1, rows, target); })) return;
  run_time_pass(p, 0, 1, rows);
  for (std::int64_t k = 0; k < p.length; ++k) target.at(k, 0).store(0, rows.load(k));
}

// The last pass of decimation in frequency over rows base … base + length - 1, with the bins to their places in `target`.
template <class T, class Target>
void run_last_pass(const FftView<T>& plan, std::int64_t base, std::int64_t length, WorkRows<T> rows,
                   Target target) noexcept {
  const FftPass<T>& p = plan.pass[plan.passes - 1];
  const std::int64_t blocks = length / p.radix;
  if (with_fused_radix<T>(p.radix, [&](auto r) noexcept { last_pass<r.value>(plan, base, blocks, rows, target); }))
    return;
  run_frequency_pass(p, base, blocks, rows);
  for (std::int64_t k = base; k < base + length; ++k) target.at(plan.bin_of_row[k], 0).store(0, rows.load(k));
}

// That pass in place, value(row, v) of what it leaves, and the first one of decimation in time.
template <class T, class Value>
void run_turn_pass(const FftView<T>& plan, std::int64_t base, std::int64_t length, WorkRows<T> rows,
                   const Value& value) noexcept {
  const FftPass<T>& p = plan.pass[plan.passes - 1];
  const std::int64_t blocks = length / p.radix;
  if (with_fused_radix<T>(p.radix, [&](auto r) noexcept { turn_pass<r.value>(p, base, blocks, rows, value); })) return;
  run_frequency_pass(p, base, blocks, rows);
  for (std::int64_t k = base; k < base + length; ++k) rows.store(k, value(k, rows.load(k)));
  run_time_pass(p, base, blocks, rows);
}

}  // namespace weft::detail::WEFT_ISA
