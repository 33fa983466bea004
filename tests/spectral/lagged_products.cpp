// Tests one row of a causal Toeplitz product against a plain loop.
#include <doctest/doctest.h>

#include <cmath>

#include "op_table.h"
#include "spectral/kernels/lagged_products.h"
#include "weft/context.h"

namespace weft::test {
namespace {

template <class T>
std::vector<T> random_numbers(std::int64_t count, std::uint64_t seed) {
  return raw::convert(random_tensor({{count}}, seed), sizeof(T) == 4 ? DType::f32 : DType::f64).to_vector<T>();
}

// Counts the sums whose error is larger than the rounding of `rows` additions and products, and changed guards.
template <class T>
std::int64_t wrong_sums(std::int64_t rows, std::int64_t channels) {
  constexpr std::int64_t guard = 3;
  const std::vector<T> t = random_numbers<T>(rows * channels, 1), v = random_numbers<T>(rows * channels, 2);
  const std::vector<T> before = random_numbers<T>(channels + guard, 3);
  std::vector<T> y = before;
  detail::kernels<detail::LaggedProductsKernels<T>>().add(rows, channels, t.data() + (rows - 1) * channels, v.data(),
                                                          y.data());
  std::int64_t wrong = 0;
  for (std::size_t c = 0; c < y.size(); ++c) {
    double sum = before[c], magnitude = std::abs(sum);
    for (std::int64_t k = 0; k < rows && static_cast<std::int64_t>(c) < channels; ++k) {
      const double product = static_cast<double>(t[static_cast<std::size_t>((rows - 1 - k) * channels) + c]) *
                             static_cast<double>(v[static_cast<std::size_t>(k * channels) + c]);
      sum += product;
      magnitude += std::abs(product);
    }
    const double bound = static_cast<double>(rows) * std::numeric_limits<T>::epsilon() * magnitude;
    wrong += std::abs(static_cast<double>(y[c]) - sum) > bound;
  }
  return wrong;
}

}  // namespace

TEST_CASE("lagged products: sums of any number of rows and channels, on every instruction set") {
  for (Isa isa : available_isas()) {
    Context context;
    context.set_isa(isa);
    const ContextScope scope(context);
    for (const std::int64_t channels : {1, 2, 3, 4, 5, 7, 8, 13, 15, 16, 17, 31, 37, 64, 67, 127, 128, 129, 150})
      for (const std::int64_t rows : {1, 2, 3, 17, 64}) {
        CAPTURE(channels);
        CAPTURE(rows);
        CHECK(wrong_sums<float>(rows, channels) == 0);
        CHECK(wrong_sums<double>(rows, channels) == 0);
      }
  }
}

}  // namespace weft::test
