// Weights in 8 bits: their values, products and rows.
#include <doctest/doctest.h>

#include "weft/quantized.h"

using namespace weft;

TEST_CASE("quantized: values and scales by rows") {
  const Tensor w = Tensor::from<float>({127, -63.5f, 0.5f, 1.5f, 0, 0, 0, 0, -2, 1, 0.5f, 0}, {3, 4});
  const QuantizedWeight q(w);
  CHECK(q.scales().to_vector<float>() == std::vector<float>{1, 0, 2.0f / 127});
  CHECK(q.values().to_vector<std::int8_t>() == std::vector<std::int8_t>{127, -64, 0, 2, 0, 0, 0, 0, -127, 64, 32, 0});
}
