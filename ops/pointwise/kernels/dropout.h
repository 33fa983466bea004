// Dropout with the counter-based random numbers of weft::Random.
#pragma once
#include <cstdint>

#include "simd/family.h"

namespace weft::detail {

template <class T>
struct DropoutKernels {
  static constexpr std::string_view name = "dropout";
  // y[i] = 0 · x[i] if Random(seed, stream).bits(first + i) >> 11 < limit, otherwise y[i] = factor · x[i]. `first` is
  // even.
  void (*dropout)(const T* x, T* y, std::int64_t n, std::uint64_t first, std::uint64_t seed, std::uint64_t stream,
                  std::uint64_t limit, Computed<T> factor) noexcept;
};

}  // namespace weft::detail
