// The type for computing with elements stored as T: float for bfloat16, otherwise T itself.
#pragma once
#include "weft/bfloat16.h"

namespace weft::detail {

template <class T>
struct ComputedOf {
  using type = T;
};
template <>
struct ComputedOf<bfloat16> {
  using type = float;
};
template <class T>
using Computed = typename ComputedOf<T>::type;

}  // namespace weft::detail
