// Tests sums of exponentials as a recurrence against their definition.
#include <doctest/doctest.h>

#include <cmath>
#include <complex>

#include "internal/weft/detail/recurrence.h"
#include "op_table.h"
#include "weft/context.h"

namespace weft::test {
namespace {

// K exponentials for each of d channels, with |λ| < 1, and n rows v.
struct Case {
  std::int64_t n, terms, d;
  Tensor v, factors;

  Case(std::int64_t rows, std::int64_t count, std::int64_t channels, DType dtype)
      : n(rows), terms(count), d(channels), v(raw::convert(random_tensor({{n, d}}, 1), dtype)) {
    const Tensor x = random_tensor({{terms, 4, d}}, 2);
    std::vector<double> values = x.to_vector<double>();
    const auto row = static_cast<std::size_t>(d);
    for (std::size_t i = 0; i < values.size(); ++i)
      if (i / row % 4 == 0) values[i] = -0.1 - 0.1 * values[i] * values[i] / (1 + values[i] * values[i]);
      else if (i / row % 4 == 1) values[i] = 0.3 * values[i] / (1 + std::abs(values[i]));
    factors = raw::convert(Tensor::from(values, {terms, 4, d}), dtype);
  }

  // y_i = Σ_(k <= i) Σ_j Re((a_j - i b_j) λ_j^k) v_(i-k) in f64.
  Tensor expected() const {
    const auto f = raw::convert(factors, DType::f64).to_vector<double>();
    const auto x = raw::convert(v, DType::f64).to_vector<double>();
    std::vector<double> y(x.size(), 0);
    const auto at = [&](std::int64_t j, std::int64_t part, std::int64_t c) {
      return f[static_cast<std::size_t>((j * 4 + part) * d + c)];
    };
    for (std::int64_t c = 0; c < d; ++c)
      for (std::int64_t j = 0; j < terms; ++j) {
        const std::complex<double> pole(1 + at(j, 0, c), at(j, 1, c)), factor(at(j, 2, c), -at(j, 3, c));
        std::complex<double> power = factor;
        for (std::int64_t k = 0; k < n; ++k, power *= pole)
          for (std::int64_t i = k; i < n; ++i)
            y[static_cast<std::size_t>(i * d + c)] += power.real() * x[static_cast<std::size_t>((i - k) * d + c)];
      }
    return Tensor::from(y, {n, d});
  }

  // Passes `at_once` rows in each call.
  Tensor run(std::int64_t at_once) const {
    Tensor state = Tensor::zeros({terms, 2, d}, v.dtype());
    std::vector<Tensor> rows;
    for (std::int64_t i = 0; i < n; i += at_once)
      rows.push_back(detail::run_recurrence(slice(v, 0, i, std::min(i + at_once, n)), factors, state));
    return concat(rows, 0);
  }
};

}  // namespace

TEST_CASE("recurrence: any number of rows, terms and channels, in one call or in several, on every instruction set") {
  for (Isa isa : available_isas()) {
    Context context;
    context.set_isa(isa);
    const ContextScope scope(context);
    for (const std::int64_t channels : {1, 3, 4, 7, 16, 17, 64, 67, 150})
      for (const std::int64_t terms : {1, 5}) {
        CAPTURE(channels);
        CAPTURE(terms);
        for (const DType dtype : {DType::f32, DType::f64}) {
          const Case some(20, terms, channels, dtype);
          const Tensor y = some.run(20), want = some.expected();
          CHECK(max_difference(raw::convert(y, DType::f64), want) <=
                (dtype == DType::f32 ? 1e-5 : 1e-13) * std::max(1.0, max_abs(want)));
          CHECK(max_difference(some.run(1), y) == 0);
          CHECK(max_difference(some.run(7), y) == 0);
        }
      }
  }
}

TEST_CASE("recurrence: a state is not written, so that several texts can continue from it") {
  const Case some(3, 2, 5, DType::f32);
  Tensor state = Tensor::zeros({2, 2, 5});
  (void)detail::run_recurrence(some.v, some.factors, state);
  Tensor first = state, second = state;
  const Tensor y = detail::run_recurrence(some.v, some.factors, first);
  CHECK(max_difference(detail::run_recurrence(some.v, some.factors, second), y) == 0);
  CHECK(max_difference(first, second) == 0);
  CHECK(max_difference(first, state) > 0);
}

}  // namespace weft::test
