// The vector type of the kernels, and its functions. It is xsimd's (8.1 to 14), or, for a processor that has no line of
// its own in weft/isas.def, a vector of the compiler (__attribute__((vector_size))). No other file uses xsimd.
//
// A kernel unit is compiled once per instruction set with
//   -DWEFT_ISA=avx512 -DWEFT_ARCH=xsimd::avx512bw -DWEFT_VECTOR_BYTES=64 -DWEFT_HAS_MASKS=1 …  (see weft/isas.def)
// and puts all its definitions into namespace weft::detail::WEFT_ISA, so that no two units share a symbol.
#pragma once
#include <cstddef>
#include <cstdint>

#if !defined(WEFT_ISA) || !defined(WEFT_ARCH)
#error "batch.h is for kernel units, which are compiled with -DWEFT_ISA and -DWEFT_ARCH"
#endif

#if WEFT_HAS_COMPILER_VECTORS
#include "simd/unroll.h"

namespace weft::detail::WEFT_ISA::simd {

// A vector of T, and a vector of integers with as many bits as T.
template <class T>
struct Registers;
template <>
struct Registers<float> {
  using Numbers [[gnu::vector_size(WEFT_VECTOR_BYTES)]] = float;
  using Integers [[gnu::vector_size(WEFT_VECTOR_BYTES)]] = std::int32_t;
};
template <>
struct Registers<double> {
  using Numbers [[gnu::vector_size(WEFT_VECTOR_BYTES)]] = double;
  using Integers [[gnu::vector_size(WEFT_VECTOR_BYTES)]] = std::int64_t;
};

// A truth value for each lane: 0 or -1.
template <class T>
class Mask {
 public:
  using Integers = typename Registers<T>::Integers;

  template <class Comparison>  // the result of a comparison of vectors, whose type depends on the compiler
  explicit Mask(Comparison lanes) noexcept : lanes_(__builtin_bit_cast(Integers, lanes)) {}
  Integers lanes() const noexcept { return lanes_; }

  friend Mask operator&&(Mask a, Mask b) noexcept { return Mask(a.lanes_ & b.lanes_); }
  friend Mask operator||(Mask a, Mask b) noexcept { return Mask(a.lanes_ | b.lanes_); }
  friend Mask operator!(Mask a) noexcept { return Mask(~a.lanes_); }

 private:
  Integers lanes_;
};

template <class T>
class Batch {
 public:
  using value_type = T;
  using register_type = typename Registers<T>::Numbers;
  static constexpr std::size_t size = WEFT_VECTOR_BYTES / sizeof(T);

  Batch() noexcept = default;
  // x - 0 is x, also for -0. Clang does not unroll a loop over the lanes for WebAssembly.
  Batch(T x) noexcept : lanes_(x - register_type{}) {}
  Batch(register_type lanes) noexcept : lanes_(lanes) {}
  operator register_type() const noexcept { return lanes_; }

  static Batch load_unaligned(const T* p) noexcept {
    Batch v;
    __builtin_memcpy(&v.lanes_, p, sizeof v.lanes_);
    return v;
  }
  void store_unaligned(T* p) const noexcept { __builtin_memcpy(p, &lanes_, sizeof lanes_); }

  friend Batch operator+(Batch a, Batch b) noexcept { return a.lanes_ + b.lanes_; }
  friend Batch operator-(Batch a, Batch b) noexcept { return a.lanes_ - b.lanes_; }
  friend Batch operator*(Batch a, Batch b) noexcept { return a.lanes_ * b.lanes_; }
  friend Batch operator/(Batch a, Batch b) noexcept { return a.lanes_ / b.lanes_; }
  friend Batch operator-(Batch a) noexcept { return -a.lanes_; }
  Batch& operator+=(Batch b) noexcept { return *this = *this + b; }
  Batch& operator-=(Batch b) noexcept { return *this = *this - b; }
  Batch& operator*=(Batch b) noexcept { return *this = *this * b; }

  friend Mask<T> operator<(Batch a, Batch b) noexcept { return Mask<T>(a.lanes_ < b.lanes_); }
  friend Mask<T> operator<=(Batch a, Batch b) noexcept { return Mask<T>(a.lanes_ <= b.lanes_); }
  friend Mask<T> operator>(Batch a, Batch b) noexcept { return Mask<T>(a.lanes_ > b.lanes_); }
  friend Mask<T> operator>=(Batch a, Batch b) noexcept { return Mask<T>(a.lanes_ >= b.lanes_); }
  friend Mask<T> operator==(Batch a, Batch b) noexcept { return Mask<T>(a.lanes_ == b.lanes_); }
  friend Mask<T> operator!=(Batch a, Batch b) noexcept { return Mask<T>(a.lanes_ != b.lanes_); }

 private:
  register_type lanes_;
};

template <class T>
inline Batch<T> select(Mask<T> where, Batch<T> a, Batch<T> b) noexcept {
  using Register = typename Batch<T>::register_type;
  return where.lanes() ? static_cast<Register>(a) : static_cast<Register>(b);
}
template <class T>
inline bool any(Mask<T> mask) noexcept {
  bool found = false;
  repeat<Batch<T>::size>([&](auto i) WEFT_INLINE { found = found || mask.lanes()[i.value] != 0; });
  return found;
}
template <class T>
inline Batch<T> min(Batch<T> a, Batch<T> b) noexcept {
  return select(a < b, a, b);
}
template <class T>
inline Batch<T> max(Batch<T> a, Batch<T> b) noexcept {
  return select(a > b, a, b);
}
template <class T>
inline Batch<T> abs(Batch<T> x) noexcept {
  using Register = typename Batch<T>::register_type;
  using Integers = typename Mask<T>::Integers;
  const Integers sign = __builtin_bit_cast(Integers, static_cast<Register>(Batch<T>(T(-0.0))));
  return __builtin_bit_cast(Register, __builtin_bit_cast(Integers, static_cast<Register>(x)) & ~sign);
}
template <class T>
inline Batch<T> sqrt(Batch<T> x) noexcept {
  auto lanes = static_cast<typename Batch<T>::register_type>(x);
  repeat<Batch<T>::size>([&](auto i) WEFT_INLINE {
    constexpr int k = i.value;
    lanes[k] = static_cast<T>(sizeof(T) == 4 ? __builtin_sqrtf(lanes[k]) : __builtin_sqrt(lanes[k]));
  });
  return lanes;
}

}  // namespace weft::detail::WEFT_ISA::simd
#else
#include <xsimd/xsimd.hpp>

namespace weft::detail::WEFT_ISA::simd {

template <class T>
using Batch = xsimd::batch<T, WEFT_ARCH>;
using xsimd::abs;
using xsimd::any;
using xsimd::max;
using xsimd::min;
using xsimd::select;
using xsimd::sqrt;

}  // namespace weft::detail::WEFT_ISA::simd
#endif
