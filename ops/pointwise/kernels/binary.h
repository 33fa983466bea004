// Functions of two operands a and b of n elements, each dense (stride 1) or a single element (stride 0). y, dy and dx
// are dense.
#pragma once
#include <cstdint>

#include "simd/family.h"

namespace weft::detail {

template <class T>
struct BinaryKernels {
  static constexpr std::string_view name = "binary";
  using Forward = void (*)(const T* a, std::int64_t a_stride, const T* b, std::int64_t b_stride, T* y,
                           std::int64_t n) noexcept;
  using Backward = void (*)(const T* a, std::int64_t a_stride, const T* b, std::int64_t b_stride, const T* dy, T* dx,
                            std::int64_t n) noexcept;
  Forward maximum, minimum;  // NaN if an operand is NaN
  Forward pow;               // a^b
  // dx = 0 where a < b (larger) or a > b (smaller), dy/2 where a = b, otherwise dy
  Backward larger, smaller;
  Backward pow_base;      // dx = b a^(b-1) dy, 0 where b = 0
  Backward pow_exponent;  // dx = a^b ln a dy, 0 where a = 0 and b >= 0
};

}  // namespace weft::detail
