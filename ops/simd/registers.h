// Hints for loops that use all registers. Without them the compiler spills vectors to the stack.
#pragma once
#include "simd/simd.h"

namespace weft::detail::WEFT_ISA::simd {

// Forces the compiler to compute v at this point and to keep it in a register. An empty instruction claims to change v,
// so the compiler can't move the computation across it.
template <class T>
WEFT_INLINE inline void keep_in_register(const T*& p) noexcept {
  asm volatile("" : "+r"(p));
}
template <class V>
WEFT_INLINE inline void keep_in_register(V& v) noexcept {
#if defined(__x86_64__)
  asm volatile("" : "+v"(v));
#elif defined(__aarch64__)
  asm volatile("" : "+w"(v));
#else
  (void)v;
#endif
}
template <class T>
WEFT_INLINE inline void keep_in_register(Batch<T>& v) noexcept {
  auto bits = static_cast<typename Batch<T>::register_type>(v);
  keep_in_register(bits);
  v = Batch<T>(bits);
}

#if WEFT_HAS_LANE_PRODUCTS
// Products with lane I of a. They are written in assembly, because with intrinsics g++ 12 moves sums between registers
// in loops of many products (12 moves for 192 bfdot).
// Returns c + b times that lane.
template <int I>
WEFT_INLINE inline Batch<float> fma_lane(Batch<float> a, Batch<float> b, Batch<float> c) noexcept {
  float32x4_t sum = c;
  asm("fmla %0.4s, %1.4s, %2.s[%c3]" : "+w"(sum) : "w"(float32x4_t(b)), "w"(float32x4_t(a)), "i"(I));
  return sum;
}
template <int I>
WEFT_INLINE inline Batch<double> fma_lane(Batch<double> a, Batch<double> b, Batch<double> c) noexcept {
  float64x2_t sum = c;
  asm("fmla %0.2d, %1.2d, %2.d[%c3]" : "+w"(sum) : "w"(float64x2_t(b)), "w"(float64x2_t(a)), "i"(I));
  return sum;
}
// Returns c + the products of b's bf16 pairs and that lane.
template <int I>
WEFT_INLINE inline Batch<float> pairs_lane(Batch<float> a, Batch<float> b, Batch<float> c) noexcept {
  float32x4_t sum = c;
  asm("bfdot %0.4s, %1.8h, %2.2h[%c3]" : "+w"(sum) : "w"(float32x4_t(b)), "w"(float32x4_t(a)), "i"(I));
  return sum;
}
#endif

}  // namespace weft::detail::WEFT_ISA::simd
