// Comparisons, which give masks, and selection by a mask. A mask has 1 for true and 0 for false. Operands of n elements
// are dense (stride 1) or a single element (stride 0). y is dense.
#pragma once
#include <cstdint>

#include "simd/family.h"

namespace weft::detail {

template <class T>
struct ComparisonKernels {
  static constexpr std::string_view name = "comparison";
  using Compare = void (*)(const T* a, std::int64_t a_stride, const T* b, std::int64_t b_stride, std::int8_t* y,
                           std::int64_t n) noexcept;
  Compare less, less_equal, equal, not_equal;
  // y = a where mask is not 0, else b
  void (*choose)(const std::int8_t* mask, std::int64_t mask_stride, const T* a, std::int64_t a_stride, const T* b,
                 std::int64_t b_stride, T* y, std::int64_t n) noexcept;
};

}  // namespace weft::detail
