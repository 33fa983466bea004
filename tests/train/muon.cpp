// Tests Muon against its formulas on plain numbers for matrices, and as AdamW for all other parameters.
#include <doctest/doctest.h>

#include <cmath>
#include <random>

#include "same_parameters.h"
#include "train_support.h"
#include "weft/context.h"
#include "weft/trainer.h"

namespace weft::test {
namespace {

using Matrix = std::vector<std::vector<double>>;

Matrix zeros(std::size_t rows, std::size_t columns) { return Matrix(rows, std::vector<double>(columns, 0)); }

Matrix product(const Matrix& a, const Matrix& b) {
  Matrix c = zeros(a.size(), b[0].size());
  for (std::size_t i = 0; i < a.size(); ++i)
    for (std::size_t k = 0; k < b.size(); ++k)
      for (std::size_t j = 0; j < b[0].size(); ++j) c[i][j] += a[i][k] * b[k][j];
  return c;
}

Matrix transposed(const Matrix& a) {
  Matrix t = zeros(a[0].size(), a.size());
  for (std::size_t i = 0; i < a.size(); ++i)
    for (std::size_t j = 0; j < a[0].size(); ++j) t[j][i] = a[i][j];
  return t;
}

Matrix sum(double a, const Matrix& x, double b, const Matrix& y) {
  Matrix z = x;
  for (std::size_t i = 0; i < x.size(); ++i)
    for (std::size_t j = 0; j < x[0].size(); ++j) z[i][j] = a * x[i][j] + b * y[i][j];
  return z;
}

// Applies the Newton-Schulz iteration to x, without transposing x if it has more rows than columns. The resulting
// matrix is the same.
Matrix orthogonal(Matrix x) {
  double squares = 0;
  for (const auto& row : x)
    for (double v : row) squares += v * v;
  for (auto& row : x)
    for (double& v : row) v /= std::sqrt(squares) + 1e-7;
  for (int i = 0; i < 5; ++i) {
    const Matrix a = product(x, transposed(x));
    x = sum(3.4445, x, 1, product(sum(-4.7750, a, 2.0315, product(a, a)), x));
  }
  return x;
}

Matrix matrix_of(const Tensor& x) {
  Matrix m = zeros(static_cast<std::size_t>(x.size(0)), static_cast<std::size_t>(x.numel() / x.size(0)));
  const auto numbers = x.to_vector<double>();
  for (std::size_t i = 0; i < numbers.size(); ++i) m[i / m[0].size()][i % m[0].size()] = numbers[i];
  return m;
}

Tensor normal_numbers(const Shape& shape, unsigned seed) {
  std::mt19937 engine(seed);
  std::normal_distribution<double> normal;
  Tensor x = Tensor::zeros(shape, DType::f64);
  for (std::int64_t i = 0; i < x.numel(); ++i) x.mutable_data<double>()[i] = normal(engine);
  return x;
}

void set_gradients(ParameterSet& set, unsigned seed) {
  for (const ParameterSet::Entry& entry : set.entries()) {
    Tensor place = set.gradient(entry);
    const Tensor numbers = normal_numbers({entry.numel}, seed++);
    std::copy_n(numbers.data<double>(), entry.numel, place.mutable_data<double>());
  }
}

}  // namespace

TEST_CASE("muon: matrices of every shape equal plain loops") {
  for (const Shape& shape :
       {Shape{3, 5}, Shape{5, 3}, Shape{4, 4}, Shape{2, 7}, Shape{7, 2}, Shape{2, 3, 4}, Shape{2, 1, 3}})
    for (const double clip : {0.0, 0.5}) {
      CAPTURE(shape);
      const NamedParameters parameters = {{"w", Parameter(normal_numbers(shape, 1))}};
      Matrix p = matrix_of(parameters[0].second.value()), m = zeros(p.size(), p[0].size());
      OptimizerOptions options{"muon", {{"momentum", 0.8}}, 0.3, clip};
      Optimizer optimizer(parameters, options);
      for (int t = 1; t <= 3; ++t) {
        set_gradients(optimizer.parameters(), static_cast<unsigned>(10 * t));
        const Matrix g = matrix_of(optimizer.parameters().gradient(optimizer.parameters().entries()[0]));
        const double norm = optimizer.step(t, 0.1 * t);
        const double factor = clip > 0 ? std::min(1.0, clip / (norm + 1e-6)) : 1;
        m = sum(0.8, m, 0.2 * factor, g);
        const Matrix o = orthogonal(sum(0.8, m, 0.2 * factor, g));
        const double longest = static_cast<double>(std::max(p.size(), p[0].size()));
        p = sum(1 - 0.1 * t * 0.3, p, -0.2 * std::sqrt(longest) * 0.1 * t, o);
      }
      const Matrix got = matrix_of(parameters[0].second.value());
      for (std::size_t i = 0; i < p.size(); ++i)
        for (std::size_t j = 0; j < p[0].size(); ++j) CHECK(got[i][j] == doctest::Approx(p[i][j]).epsilon(1e-9));
    }
}

TEST_CASE("muon: all directions of a matrix change about equally, even if the gradient's directions differ") {
  const NamedParameters parameters = {{"w", Parameter(Tensor::zeros({6, 10}, DType::f64))}};
  Optimizer optimizer(parameters, {"muon", {}, 0.0, 0});
  set_gradients(optimizer.parameters(), 3);
  Tensor gradient = optimizer.parameters().gradient(optimizer.parameters().entries()[0]);
  for (std::int64_t i = 0; i < 60; ++i) gradient.mutable_data<double>()[i] *= i < 10 ? 100 : 1;
  optimizer.step(1, 1 / (0.2 * std::sqrt(10.0)));
  const Matrix change = matrix_of(parameters[0].second.value()), squares = product(change, transposed(change));
  for (std::size_t i = 0; i < 6; ++i) {
    CHECK(squares[i][i] > 0.4);
    CHECK(squares[i][i] < 1.5);
  }
}

TEST_CASE("optimizers of matrices: groups of parameters keep their positions") {
  for (const char* name : {"muon", "adafactor"}) {
    CAPTURE(name);
    const auto parameters = [] {
      NamedParameters all;
      for (const char* layer : {"a", "b", "c"})
        for (const Shape& shape : {Shape{4, 3}, Shape{5}})
          all.emplace_back(std::string(layer) + (shape.size() > 1 ? ".w" : ".v"), Parameter(normal_numbers(shape, 7)));
      return all;
    };
    const NamedParameters together = parameters(), apart = parameters();
    OptimizerOptions options{name}, groups{name};
    groups.groups = {{"b", 1.0}, {"c", 0.0}};
    Optimizer one(together, options), several(apart, groups);
    const auto gradient = [](ParameterSet& set) {
      for (const ParameterSet::Entry& entry : set.entries()) {
        Tensor place = set.gradient(entry);
        raw::copy(normal_numbers(place.shape(), static_cast<unsigned>(entry.name[0])), place);
      }
    };
    for (int t = 1; t <= 2; ++t) {
      gradient(one.parameters());
      gradient(several.parameters());
      one.step(t, 0.1);
      several.step(t, 0.1);
    }
    for (std::size_t i = 0; i < together.size(); ++i) {
      CAPTURE(together[i].first);
      const auto want = (together[i].first[0] == 'c' ? parameters() : together)[i].second.value().to_vector<double>();
      const auto got = apart[i].second.value().to_vector<double>();
      for (std::size_t k = 0; k < want.size(); ++k) CHECK(got[k] == doctest::Approx(want[k]).epsilon(1e-12));
    }
  }
}

TEST_CASE(
    "muon: AdamW updates vectors, single rows or columns, embeddings and heads, and zero or empty matrices don't "
    "change") {
  const auto parameters = [] {
    return NamedParameters{{"embedding.weight", Parameter(normal_numbers({4, 3}, 1))},
                           {"head.weight", Parameter(normal_numbers({2, 3}, 2))},
                           {"encoder.embedding.weight", Parameter(normal_numbers({2, 2}, 3))},
                           {"encoder.embeddings.word.weight", Parameter(normal_numbers({3, 2}, 5))},
                           {"classifier.weight", Parameter(normal_numbers({2, 2}, 6))},
                           {"norm.weight", Parameter(normal_numbers({3}, 4))},
                           {"row.weight", Parameter(normal_numbers({1, 3}, 7))},
                           {"gamma", Parameter(normal_numbers({1, 1, 3}, 8))},
                           {"toep.exponentials.nu", Parameter(normal_numbers({2, 3}, 10))},
                           {"column.weight", Parameter(normal_numbers({3, 1}, 9))},
                           {"empty", Parameter(Tensor::zeros({0, 3}, DType::f64))}};
  };
  const NamedParameters by_muon = parameters(), by_adamw = parameters();
  Optimizer muon(by_muon, {"muon", {}, 0.1, 1}), adamw(by_adamw, {"adamw", {}, 0.1, 1});
  for (int t = 1; t <= 3; ++t) {
    set_gradients(muon.parameters(), static_cast<unsigned>(t));
    set_gradients(adamw.parameters(), static_cast<unsigned>(t));
    muon.step(t, 0.01);
    adamw.step(t, 0.01);
  }
  for (std::size_t i = 0; i < by_muon.size(); ++i)
    CHECK(by_muon[i].second.value().to_vector<double>() == by_adamw[i].second.value().to_vector<double>());
  const NamedParameters still = {{"w", Parameter(Tensor::zeros({3, 3}, DType::f64))}};
  Optimizer none(still, {"muon"});
  none.parameters().zero_gradients();
  none.step(1, 0.1);
  CHECK(still[0].second.value().to_vector<double>() == std::vector<double>(9, 0));
}

TEST_CASE("muon: trains in f32, with the same bits for any number of threads") {
  const auto trained = [](int threads) {
    Context context;
    context.set_threads(threads);
    const ContextScope scope(context);
    SmallTask task = small_task("gmlp", Task::causal_lm);
    TrainOptions options = small_options(8);
    options.optimizer = {"muon"};
    Trainer trainer(*task.model, *task.data, options);
    const double first = trainer.step();
    double last = first;
    for (int i = 1; i < 8; ++i) last = trainer.step();
    CHECK(last < first);
    return std::move(task.model);
  };
  const auto one = trained(1), three = trained(3);
  CHECK(same_parameters(*one, *three));
}

}  // namespace weft::test
