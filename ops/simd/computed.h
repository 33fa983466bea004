// What numbers are computed in where they are stored as T: a bfloat16 as a float, any other as itself.
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
