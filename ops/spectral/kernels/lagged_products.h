// One row of a causal Toeplitz product of rows that are stored one after the other.
#pragma once
#include <cstdint>

#include "simd/family.h"

namespace weft::detail {

template <class T>
struct LaggedProductsKernels {
  static constexpr std::string_view name = "lagged_products";
  // y_c += Σ_(k < count) t_(-k)c · v_kc, in ascending order of k. Rows have `channels` numbers.
  void (*add)(std::int64_t count, std::int64_t channels, const T* t, const T* v, T* y) noexcept;
};

}  // namespace weft::detail
