// Unrolled loops of constant length that keep arrays of vectors in registers.
#pragma once

// WEFT_INLINE marks the bodies of unrolled loops, [&](auto i) WEFT_INLINE { … }, because compilers would otherwise
// reach their inlining limits and keep the arrays in memory. WEFT_FLATTEN marks loops that call such bodies. Sanitizer
// builds define both as empty, because instrumented functions of that size take minutes to compile.
#ifndef WEFT_INLINE
#define WEFT_INLINE __attribute__((always_inline))
#define WEFT_FLATTEN __attribute__((flatten))
#endif

namespace weft::detail::WEFT_ISA {

template <int I>
struct Index {
  static constexpr int value = I;
};

// Calls f(Index<0>{}), …, f(Index<N-1>{}).
template <int N, int I = 0, class F>
WEFT_INLINE inline void repeat(const F& f) noexcept {
  if constexpr (I < N) {
    f(Index<I>{});
    repeat<N, I + 1>(f);
  }
}

}  // namespace weft::detail::WEFT_ISA
