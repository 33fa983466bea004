// Three parameters, and their values and gradients as lists of numbers.
#pragma once
#include <cmath>
#include <cstdint>
#include <vector>

#include "weft/parameter_set.h"

namespace weft::test {

using Numbers = std::vector<double>;

// A matrix and two vectors, in an order in which the groups are not contiguous.
inline NamedParameters small_parameters() {
  return {{"a", Parameter(Tensor::from<double>({1, -2, 3}, {3}))},
          {"w", Parameter(Tensor::from<double>({0.5, -1, 2, 4}, {2, 2}))},
          {"b", Parameter(Tensor::from<double>({7}, {1}))}};
}

// Returns the numbers in the order w, a, b, with the matrix first.
inline Numbers flat(const NamedParameters& p) {
  Numbers all;
  for (std::size_t i : {1, 0, 2})
    for (double v : p[i].second.value().to_vector<double>()) all.push_back(v);
  return all;
}

inline Numbers gradient(int step) {
  Numbers g;
  for (int i = 0; i < 8; ++i) g.push_back(std::sin(3.0 * i + step) * (step == 2 ? 10 : 0.1));
  return g;
}

inline void set_gradient(ParameterSet& set, const Numbers& g) {
  std::size_t next = 0;
  for (const auto& entry : set.entries()) {
    Tensor place = set.gradient(entry);
    for (std::int64_t i = 0; i < entry.numel; ++i) place.mutable_data<double>()[i] = g[next++];
  }
}

}  // namespace weft::test
