// Functions of an array and a number. The number has the type in which T is computed.
#pragma once
#include <cstdint>

#include "simd/family.h"

namespace weft::detail {

template <class T>
struct NumberKernels {
  static constexpr std::string_view name = "number";
  using Forward = void (*)(const T* x, Computed<T> c, T* y, std::int64_t n) noexcept;
  using Backward = void (*)(const T* x, Computed<T> c, const T* dy, T* dx, std::int64_t n) noexcept;
  Forward plus;          // x + c
  Forward over;          // x / c
  Forward under;         // c / x
  Forward power;         // x^c
  Backward under_slope;  // dx = -c / x² dy
  Backward power_slope;  // dx = c x^(c-1) dy, 0 for c = 0
  void (*clamp)(const T* x, Computed<T> low, Computed<T> high, T* y, std::int64_t n) noexcept;
  // dx = dy where low <= x <= high, else 0
  void (*clamp_slope)(const T* x, Computed<T> low, Computed<T> high, const T* dy, T* dx, std::int64_t n) noexcept;
};

}  // namespace weft::detail
