// The passes of a transform.
#pragma once
#include <type_traits>

#include "spectral/kernels/fft_rows.h"

namespace weft::detail::WEFT_ISA {

// Calls f(Index<radix>{}) if the radix is one of those that occur in most lengths. Returns false for other radices.
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
// Calls f(Index<radix>{}) if the passes of this radix are also compiled with other memory as source or target. Returns
// false otherwise. In f64 there are no such radices, because an additional pass costs less in f64, and these passes
// would make up one eighth of the library's size.
template <class T, class F>
inline bool with_fused_radix(std::int64_t radix, const F& f) noexcept {
  if constexpr (std::is_same_v<T, float>) return with_common_radix(radix, f);
  else return false;
}

template <class T, int R>
[[gnu::noinline]] void called_butterfly(ComplexVec<T>* a, const T* roots) noexcept {
  Butterfly<T, R>::run(a, roots);
}

// Calls the butterfly as a function in two cases where inlined copies would make up most of each pass: if the numbers
// don't fit into registers anyway (radices 11 and 13), and for radices from 5 on in f64.
template <class T, int R>
WEFT_INLINE inline void butterfly(ComplexVec<T>* a, const T* roots) noexcept {
  if constexpr (R == 11 || R == 13 || (R >= 5 && !std::is_same_v<T, float>)) called_butterfly<T, R>(a, roots);
  else Butterfly<T, R>::run(a, roots);
}

// One transform of R rows. Decimation in frequency multiplies by the factors w after the sum, and decimation in time
// multiplies before it. If `Twiddle` is false, all factors w are 1.
template <bool Twiddle, class T, int R, class From, class To>
WEFT_INLINE inline void frequency_rows(const FftPass<T>& p, const T* w, const From& from, const To& to) noexcept {
  ComplexVec<T> a[R];
  repeat<R>([&](auto q) WEFT_INLINE { a[q.value] = from.load(q.value); });
  butterfly<T, R>(a, p.roots);
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
  butterfly<T, R>(a, p.roots);
  repeat<R>([&](auto q) WEFT_INLINE { to.store(q.value, a[q.value]); });
}

// Calls rows(whether w may differ from 1, w, from, to) for the rows of the first stride of each block, where w are the
// factors of a row. Passes from or to other memory have the longest strides, so they treat the first factors, which are
// 1, like the others.
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

// A pass over `blocks` blocks, starting at row `base`. The source and the target may be the same rows.
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

// The pass over blocks of R rows. It has no factors, so decimation in frequency and decimation in time are the same.
template <int R, class T, class Source, class Target>
[[gnu::noinline]] WEFT_FLATTEN void dense_pass(const FftPass<T>& p, std::int64_t base, std::int64_t blocks,
                                               Source source, Target target) noexcept {
  for (std::int64_t end = base + blocks * R; base < end; base += R)
    frequency_rows<false, T, R>(p, nullptr, source.at(base, 1), target.at(base, 1));
}

// The only pass of a plan of radix R, for several sequences, each with its own source and target.
template <int R, class T, class Sources, class Targets>
[[gnu::noinline]] WEFT_FLATTEN void only_pass(const FftPass<T>& p, std::int64_t sequences, Sources sources,
                                              Targets targets) noexcept {
  for (std::int64_t s = 0; s < sequences; ++s)
    frequency_rows<false, T, R>(p, nullptr, sources.of(s).at(0, 1), targets.of(s).at(0, 1));
}

// Runs the last pass of decimation in frequency, then value(row, v) for each result v, and then the first pass of
// decimation in time.
template <int R, class T, class Value>
[[gnu::noinline]] WEFT_FLATTEN void turn_pass(const FftPass<T>& p, std::int64_t base, std::int64_t blocks,
                                              WorkRows<T> rows, const Value& value) noexcept {
  for (std::int64_t end = base + blocks * R; base < end; base += R) {
    const auto at = rows.at(base, 1);
    ComplexVec<T> a[R];
    repeat<R>([&](auto q) WEFT_INLINE { a[q.value] = at.load(q.value); });
    butterfly<T, R>(a, p.roots);
    repeat<R>([&](auto q) WEFT_INLINE { a[q.value] = value(base + q.value, a[q.value]); });
    butterfly<T, R>(a, p.roots);
    repeat<R>([&](auto q) WEFT_INLINE { at.store(q.value, a[q.value]); });
  }
}

// The last pass of decimation in frequency. It writes the bins to their places in `target`.
template <int R, class T, class Target>
[[gnu::noinline]] WEFT_FLATTEN void last_pass(const FftView<T>& plan, std::int64_t base, std::int64_t blocks,
                                              WorkRows<T> rows, Target target) noexcept {
  const FftPass<T>& p = plan.pass[plan.passes - 1];
  const std::int64_t apart = plan.n / R;
  for (std::int64_t end = base + blocks * R; base < end; base += R)
    frequency_rows<false, T, R>(p, nullptr, rows.at(base, 1), target.at(plan.bin_of_row[base], apart));
}

// These functions run a pass in place over `blocks` blocks (fft_in_place.cpp).
template <class T>
void run_frequency_pass(const FftPass<T>& p, std::int64_t base, std::int64_t blocks, WorkRows<T> rows) noexcept;
template <class T>
void run_time_pass(const FftPass<T>& p, std::int64_t base, std::int64_t blocks, WorkRows<T> rows) noexcept;

template <class T, class Source>
void read_rows(std::int64_t n, Source source, WorkRows<T> rows) noexcept {
  for (std::int64_t k = 0; k < n; ++k) rows.store(k, source.at(k, 0).load(0));
}
template <class T, class Target>
void write_rows(std::int64_t n, WorkRows<T> rows, Target target) noexcept {
  for (std::int64_t k = 0; k < n; ++k) target.at(k, 0).store(0, rows.load(k));
}

// Runs the first pass of decimation in frequency, which reads from `source`.
template <class T, class Source>
void run_first_pass(const FftPass<T>& p, Source source, WorkRows<T> rows) noexcept {
  if (with_fused_radix<T>(p.radix, [&](auto r) noexcept { frequency_pass<r.value>(p, 0, 1, source, rows); })) return;
  read_rows(p.length, source, rows);
  run_frequency_pass(p, 0, 1, rows);
}

// Runs the last pass of decimation in time, which writes to `target`.
template <class T, class Target>
void run_final_pass(const FftPass<T>& p, WorkRows<T> rows, Target target) noexcept {
  if (with_fused_radix<T>(p.radix, [&](auto r) noexcept { time_pass<r.value>(p, 0, 1, rows, target); })) return;
  run_time_pass(p, 0, 1, rows);
  write_rows(p.length, rows, target);
}

// Runs the last pass of decimation in frequency over rows base … base + length - 1. It writes the bins to their places
// in `target`.
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

// Runs the last pass of decimation in frequency in place, then value(row, v) for each result v, and then the first pass
// of decimation in time.
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
