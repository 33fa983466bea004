// Tests that Toeplitz products keep their prepared coefficients and recompute them only if necessary.
#include "base/kept_toeplitz.h"

#include <doctest/doctest.h>

#include "op_table.h"
#include "weft/context.h"

namespace weft::test {

TEST_CASE("KeptToeplitz: coefficients are recomputed for a new length, batch, version or instruction set only") {
  for (const bool normalize : {false, true}) {
    detail::KeptToeplitz kept;
    int made = 0;
    const auto mix = [&](std::int64_t b, std::int64_t n, std::uint64_t version) {
      const Tensor x = random_tensor({{b, 2, n, 3}}, 3), t = random_tensor({{2, n, 3}, 0.5, 1}, version);
      const auto make = [&] {
        ++made;
        return t;
      };
      const Tensor y = kept.mix(x, make, true, normalize, {version, 1});
      CHECK(same_bits(y, detail::toeplitz_mix(x, t, true, normalize)));
      return made;
    };
    CHECK(mix(2, 7, 1) == 1);
    CHECK(mix(2, 7, 1) == 1);
    CHECK(mix(2, 7, 2) == 2);
    CHECK(mix(2, 9, 2) == 3);
    CHECK(mix(1, 9, 2) == 4);
    CHECK(mix(1, 9, 2) == 4);
    const std::vector<Isa> isas = available_isas();
    Context context;
    for (std::size_t i = 0; i < isas.size(); ++i) {
      context.set_isa(isas[i]);
      const ContextScope scope(context);
      const int before = made;
      CHECK(mix(1, 9, 2) - before <= 1);
      CHECK((i == 0 || mix(1, 9, 2) == before + 1));
    }
  }
}

TEST_CASE("toeplitz_mix: sums, and means that divide by the coefficients' sums") {
  const Tensor x = Tensor::from<double>({1, 2, 4}, {1, 1, 3, 1}), t = Tensor::from<double>({1, 3, 0}, {1, 3, 1});
  CHECK(detail::toeplitz_mix(x, t, true, false).to_vector<double>() == std::vector<double>{1, 5, 10});
  CHECK(detail::toeplitz_mix(x, t, true, true).to_vector<double>() == std::vector<double>{1, 1.25, 2.5});
}

}  // namespace weft::test
