// Gives random values to every parameter. A new model could hide errors, because its biases are 0 or 1 and its tables
// are nearly 0.
#pragma once
#include <cstdint>

#include "op_table.h"
#include "weft/model.h"

namespace weft::test {

// Draws the values from U(-range, range). Every call gives the same values.
inline void randomize(const NamedParameters& parameters, double range = 1) {
  std::uint64_t seed = 100;
  for (auto [name, parameter] : parameters) {
    const Tensor& value = parameter.value();
    parameter.assign(Random(seed++).uniform(value.shape(), -range, range, value.dtype()));
  }
}

}  // namespace weft::test
