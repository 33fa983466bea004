// What loops that fill all registers say to the compiler, which otherwise puts vectors on the stack.
#pragma once
#include "simd/simd.h"

#if defined(__FMA__) || defined(__aarch64__)
#define WEFT_HAS_FMA 1
#else
#define WEFT_HAS_FMA 0
#endif

namespace weft::detail::WEFT_ISA::simd {

// Has v in a register here, and its computation done: an empty instruction seems to change it, and what the compiler can't see
// it doesn't move.
template <class T>
WEFT_INLINE inline void keep_in_register(const T*& p) noexcept {
  asm volatile("" : "+r"(p));
}
template <class V>
WEFT_INLINE inline void keep_in_register(V& v) noexcept {
#if defined(__x86_64__)
  asm volatile("" : "+v"(v));
#else
  asm volatile("" : "+w"(v));
#endif
}
template <class T>
WEFT_INLINE inline void keep_in_register(Batch<T>& v) noexcept {
  auto bits = static_cast<typename Batch<T>::register_type>(v);
  keep_in_register(bits);
  v = Batch<T>(bits);
}

#if defined(__aarch64__)
// Lane I of v in all lanes.
template <int I>
inline Batch<float> of_lane(Batch<float> v) noexcept {
  return vdupq_laneq_f32(v, I);
}
template <int I>
inline Batch<double> of_lane(Batch<double> v) noexcept {
  return vdupq_laneq_f64(v, I);
}
#endif

}  // namespace weft::detail::WEFT_ISA::simd
