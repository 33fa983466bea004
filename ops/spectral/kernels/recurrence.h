// Sums of exponentials applied to rows that arrive one after the other.
#pragma once
#include <cstdint>

#include "simd/family.h"

namespace weft::detail {

template <class T>
struct RecurrenceKernels {
  static constexpr std::string_view name = "recurrence";
  // For each of n rows v_i, in each of `channels` channels: s_j = λ_j s_j + v_i for each term j, with complex s and λ,
  // then y_i = Σ_j (a_j Re s_j + b_j Im s_j), in ascending order of j. Each term has four rows in `factors`: Re(λ - 1),
  // Im(λ), a and b; and two rows in `from` and `to`: Re s and Im s. `from` is the state before the first row, and `to`
  // becomes the state after the last one. They may be the same. A row of v, y, factors, from and to has `row` numbers.
  void (*run)(std::int64_t n, std::int64_t terms, std::int64_t channels, std::int64_t row, const T* factors,
              const T* from, const T* v, T* to, T* y) noexcept;
};

}  // namespace weft::detail
