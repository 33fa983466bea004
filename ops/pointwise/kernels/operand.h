// An operand of n elements that is dense or a single element, for loops with simd::for_vectors.
#pragma once
#include "simd/rows.h"

namespace weft::detail::WEFT_ISA {

template <class T>
class Operand {
 public:
  // stride: 1, or 0 for a single element
  Operand(const T* p, std::int64_t stride) noexcept : p_(p), dense_(stride != 0), single_(simd::get(p)) {}
  template <class At>
  simd::Vec<T> load(At at) const noexcept {
    return dense_ ? at.load(p_) : single_;
  }

 private:
  const T* p_;
  bool dense_;
  simd::Vec<T> single_;
};

}  // namespace weft::detail::WEFT_ISA
