// Whether two models have the same parameters.
#pragma once
#include "weft/model.h"

namespace weft::test {

// Returns whether the names and, bit by bit, the values of all parameters are the same.
inline bool same_parameters(const Model& a, const Model& b) {
  const NamedParameters p = a.parameters(), q = b.parameters();
  return std::equal(p.begin(), p.end(), q.begin(), q.end(), [](const auto& x, const auto& y) {
    return x.first == y.first && x.second.value().dtype() == y.second.value().dtype() &&
           raw::convert(x.second.value(), DType::f64).template to_vector<double>() ==
               raw::convert(y.second.value(), DType::f64).template to_vector<double>();
  });
}

}  // namespace weft::test
