// Loops of constant length, unrolled, so that arrays of vectors live in registers.
#pragma once

// For the bodies of unrolled loops: [&](auto i) WEFT_INLINE { … }. The compilers' own limits would keep arrays in memory.
#define WEFT_INLINE __attribute__((always_inline))

namespace weft::WEFT_ISA {

template <int I> struct Index { static constexpr int value = I; };

// f(Index<0>{}), …, f(Index<N-1>{}).
template <int N, int I = 0, class F>
[[gnu::always_inline]] inline void repeat(const F& f) noexcept {
  if constexpr (I < N) {
    f(Index<I>{});
    repeat<N, I + 1>(f);
  }
}

}  // namespace weft::WEFT_ISA
