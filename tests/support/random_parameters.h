// Gives random values to every parameter. A new model could hide errors, because its biases are 0 or 1 and its tables
// are nearly 0.
#pragma once
#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "op_table.h"
#include "weft/error.h"
#include "weft/model.h"

namespace weft::test {

inline const Init init64{Random(5), DType::f64};

inline Tensor random_numbers(const Shape& shape, std::uint64_t seed = 1, DType dtype = DType::f64) {
  return Random(seed).uniform(shape, -1, 1, dtype);
}

// Draws the values from U(-range, range). Every call gives the same values.
inline void randomize(const NamedParameters& parameters, double range = 1) {
  std::uint64_t seed = 100;
  for (auto [name, parameter] : parameters) {
    const Tensor& value = parameter.value();
    parameter.assign(Random(seed++).uniform(value.shape(), -range, range, value.dtype()));
  }
}

inline Tensor value_of(const Model& model, const std::string& name) {
  for (const auto& [own, parameter] : model.parameters())
    if (own == name) return parameter.value();
  throw Error("no parameter " + name);
}

// Checks that the outputs of two models are the same, bit by bit.
inline void check_same(const std::vector<Tensor>& got, const std::vector<Tensor>& want) {
  REQUIRE(got.size() == want.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    CAPTURE(i);
    CHECK(same_bits(got[i], want[i]));
  }
}

}  // namespace weft::test
