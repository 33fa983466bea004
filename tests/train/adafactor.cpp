// Tests Adafactor against its formulas on plain numbers.
#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "train_support.h"
#include "weft/optimizer.h"

namespace weft::test {
namespace {

using Numbers = std::vector<double>;

double rms(const Numbers& x) {
  double squares = 0;
  for (const double v : x) squares += v * v;
  return std::sqrt(squares / static_cast<double>(x.size()));
}

struct Plain {
  std::size_t rows, columns;  // columns is 0 for a vector
  Numbers p, r, c, v;

  Plain(const Shape& shape, const Tensor& values)
      : rows(static_cast<std::size_t>(shape[0])),
        columns(static_cast<std::size_t>(values.numel() / shape[0])),
        p(values.to_vector<double>()),
        r(rows, 0),
        c(columns, 0),
        v(p.size(), 0) {
    if (shape.size() < 2 || rows == 1 || columns == 1) columns = 0;
  }

  Numbers estimates(const Numbers& g, double share) {
    if (columns == 0) {
      for (std::size_t i = 0; i < g.size(); ++i) v[i] += share * (g[i] * g[i] - v[i]);
      return v;
    }
    Numbers by_row(rows, 0), by_column(columns, 0);
    for (std::size_t i = 0; i < g.size(); ++i) {
      by_row[i / columns] += g[i] * g[i] / static_cast<double>(columns);
      by_column[i % columns] += g[i] * g[i] / static_cast<double>(rows);
    }
    double mean = 0;
    for (std::size_t i = 0; i < rows; ++i) {
      r[i] += share * (by_row[i] - r[i]);
      mean += r[i] / static_cast<double>(rows);
    }
    for (std::size_t j = 0; j < columns; ++j) c[j] += share * (by_column[j] - c[j]);
    Numbers all(g.size());
    for (std::size_t i = 0; i < g.size(); ++i)
      all[i] = r[i / columns] * c[i % columns] / std::max(mean, std::numeric_limits<double>::epsilon());
    return all;
  }

  void step(const Numbers& g, int t, double lr, const Numbers& own, double decay) {
    Numbers u = estimates(g, std::pow(t, -own[0]));
    const double eps = std::numeric_limits<double>::epsilon();
    for (std::size_t i = 0; i < g.size(); ++i) u[i] = g[i] / std::sqrt(std::max(u[i], eps * eps));
    const double rate = std::max(own[2], rms(p)) * std::min(lr, 1 / std::sqrt(t)) / std::max(1.0, rms(u) / own[1]);
    for (std::size_t i = 0; i < g.size(); ++i) p[i] = (1 - lr * decay) * p[i] - rate * u[i];
  }
};

Tensor numbers(const Shape& shape, std::uint64_t seed, double scale) {
  return Random(seed).normal(shape, 0, scale, DType::f64);
}

}  // namespace

TEST_CASE("adafactor: parameters of every shape equal plain loops") {
  for (const Shape& shape : {Shape{3, 5}, Shape{5, 3}, Shape{2, 2}, Shape{1, 7}, Shape{7, 1}, Shape{6}, Shape{2, 3, 4}})
    for (const double scale : {0.0, 1.0})
      for (const Numbers& own : {Numbers{0.8, 1, 1e-3}, Numbers{0.5, 0.3, 0.2}}) {
        CAPTURE(shape);
        const Tensor values = numbers(shape, 1, scale);
        const NamedParameters parameters = {{"w", Parameter(values)}};
        const bool decays = shape.size() > 1;
        OptimizerOptions options{
            "adafactor", {{"decay-power", own[0]}, {"threshold", own[1]}, {"least-rms", own[2]}}, 0.3, 0};
        Optimizer optimizer(parameters, options);
        Plain plain(shape, values);
        for (int t = 1; t <= 4; ++t) {
          const Tensor g = numbers(shape, static_cast<std::uint64_t>(10 + t), t == 2 ? 100 : 1);
          Tensor place = optimizer.parameters().gradient(optimizer.parameters().entries()[0]);
          raw::copy(g, place);
          optimizer.step(t, 0.1 * t);
          plain.step(g.to_vector<double>(), t, 0.1 * t, own, decays ? 0.3 : 0);
        }
        const Numbers got = parameters[0].second.value().to_vector<double>();
        for (std::size_t i = 0; i < got.size(); ++i) CHECK(got[i] == doctest::Approx(plain.p[i]).epsilon(1e-9));
      }
}

TEST_CASE("adafactor: a gradient of zeros, and an empty parameter") {
  const NamedParameters parameters = {{"w", Parameter(numbers({3, 4}, 1, 1))},
                                      {"empty", Parameter(Tensor::zeros({0, 3}, DType::f64))}};
  const Numbers before = parameters[0].second.value().to_vector<double>();
  Optimizer optimizer(parameters, {"adafactor"});
  optimizer.parameters().zero_gradients();
  optimizer.step(1, 0.1);
  CHECK(parameters[0].second.value().to_vector<double>() == before);
}

}  // namespace weft::test
