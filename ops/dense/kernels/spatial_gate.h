// The spatial gate of one token: the product of a row and a matrix, fused with bias and gate. The matrix is read once,
// row by row.
#pragma once
#include <cstdint>

#include "simd/family.h"

namespace weft::detail {

template <class T>
struct SpatialGateKernels {
  static constexpr std::string_view name = "spatial_gate";
  // y[j] = gate[j] (Σ_(p < k) weight[p] x[p · x_row + j] + bias), j < n. The terms are added in the order of p.
  void (*last)(std::int64_t n, std::int64_t k, const Computed<T>* weight, Computed<T> bias, const T* x,
               std::int64_t x_row, const T* gate, T* y) noexcept;
};

}  // namespace weft::detail
