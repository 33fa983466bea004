#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "op_table.h"
#include "weft/context.h"

namespace weft::test {
namespace {

using Ins = const std::vector<Tensor>&;

// Computes x_i - max - ln sum_j e^(x_j - max) along dim, by loops.
Tensor log_softmax_loops(const Tensor& x, std::int64_t dim) {
  const Tensor moved = raw::contiguous(transpose(x, dim, -1));
  const std::int64_t n = moved.size(-1);
  std::vector<double> v = moved.to_vector<double>();
  for (std::size_t row = 0; row < v.size(); row += static_cast<std::size_t>(n)) {
    const auto begin = v.begin() + static_cast<std::ptrdiff_t>(row), end = begin + n;
    const double max = *std::max_element(begin, end);
    double sum = 0;
    for (auto i = begin; i != end; ++i) sum += std::exp(*i - max);
    for (auto i = begin; i != end; ++i) *i -= max + std::log(sum);
  }
  return transpose(Tensor::from(v, moved.shape()), dim, -1);
}

OpCase softmax_case(const std::string& name, const Shape& shape, std::int64_t dim, double width = 3) {
  return {name,
          {{shape, -width, width}},
          [=](Ins in) { return softmax(in[0], dim); },
          [=](Ins in) { return exp(log_softmax_loops(in[0], dim)); }};
}
OpCase log_softmax_case(const std::string& name, const Shape& shape, std::int64_t dim, double width = 3) {
  return {name,
          {{shape, -width, width}},
          [=](Ins in) { return log_softmax(in[0], dim); },
          [=](Ins in) { return log_softmax_loops(in[0], dim); }};
}

OpCase loss_case(const std::string& name, const Shape& logits, const Shape& target, std::int64_t ignore) {
  return {name,
          {{logits, -3, 3}, indices(target, logits.back())},
          [=](Ins in) { return cross_entropy(in[0], in[1], ignore); },
          [=](Ins in) {
            const auto x = log_softmax_loops(in[0], -1).to_vector<double>();
            const auto t = in[1].to_vector<std::int64_t>();
            double sum = 0, count = 0;
            for (std::size_t r = 0; r < t.size(); ++r) {
              if (t[r] == ignore) continue;
              sum -= x[r * static_cast<std::size_t>(logits.back()) + static_cast<std::size_t>(t[r])];
              ++count;
            }
            return Tensor::scalar(sum / count, DType::f64);
          }};
}

const OpCases softmax_cases{
    softmax_case("softmax", {5, 37}, -1),
    softmax_case("softmax inner axis", {3, 11, 4}, 1),
    softmax_case("softmax first axis", {7, 3}, 0),
    softmax_case("softmax of one", {4, 1}, -1),
    softmax_case("softmax of a vector", {19}, 0),
    {"softmax of no rows", {{{0, 3}}}, [](Ins in) { return softmax(in[0], -1); }},
    {"softmax over nothing", {{{3, 0}}}, [](Ins in) { return softmax(in[0], 1); }},
    log_softmax_case("log_softmax", {5, 37}, -1),
    log_softmax_case("log_softmax inner axis", {3, 11, 4}, 1),
    {"log_softmax of no rows", {{{0, 3}}}, [](Ins in) { return log_softmax(in[0], -1); }},
    loss_case("cross_entropy", {13, 21}, {13}, -100),
    loss_case("cross_entropy ignoring a class", {13, 5}, {13}, 2),
    loss_case("cross_entropy of sequences", {2, 7, 9}, {2, 7}, 3),
    loss_case("cross_entropy of one row", {17}, {}, -100),
};

}  // namespace

TEST_CASE("softmax of large and infinite values") {
  const double inf = std::numeric_limits<double>::infinity();
  for (DType dtype : {DType::f32, DType::f64}) {
    const auto row = [dtype](std::vector<double> v) {
      return raw::convert(Tensor::from(v, {static_cast<std::int64_t>(v.size())}), dtype);
    };
    const auto values = [](const Tensor& x) { return raw::convert(x, DType::f64).to_vector<double>(); };
    CHECK(values(softmax(row({1e30, 1e30, -inf}), 0)) == std::vector<double>{0.5, 0.5, 0});
    CHECK(values(log_softmax(row({1e6, -1e6}), 0)) == std::vector<double>{0, -2e6});
    for (const auto& bad : {std::vector<double>{inf, 0, 1}, {-inf, -inf}, {0, std::nan(""), 1}})
      for (const double v : values(softmax(row(bad), 0))) CHECK(std::isnan(v));
    // A NaN at any position of a row that is longer than a vector.
    for (std::size_t at = 0; at < 40; ++at) {
      std::vector<double> x(40, 1.0);
      x[at] = std::nan("");
      for (const double v : values(softmax(row(x), 0))) CHECK(std::isnan(v));
    }
  }
}

TEST_CASE("softmax and cross_entropy of rows of any length whose values are far from 0") {
  for (Isa isa : available_isas()) {
    Context context;
    context.set_isa(isa);
    const ContextScope scope(context);
    for (DType dtype : {DType::f32, DType::f64})
      for (std::int64_t n = 1; n <= 40; ++n)
        for (double level : {-1e4, 1e4}) {
          CAPTURE(n);
          CAPTURE(level);
          const Tensor x = Tensor::full({1, n}, level, dtype);
          const double share = 1 / static_cast<double>(n);
          CHECK(max_difference(softmax(x, 1), Tensor::full({1, n}, share, dtype)) <= 1e-6);
          CHECK(max_difference(log_softmax(x, 1), Tensor::full({1, n}, std::log(share), dtype)) <= 1e-6);
          CHECK(cross_entropy(x, Tensor::full({1}, n - 1, DType::i64)).item() == doctest::Approx(-std::log(share)));
        }
  }
}

TEST_CASE("cross_entropy of large logits keeps its digits") {
  const Tensor x = Tensor::from(std::vector<float>{100000.0f, 100000.5f, 99990.0f}, {1, 3});
  const Tensor loss = cross_entropy(x, Tensor::from(std::vector<std::int64_t>{0}, {1}));
  CHECK(loss.item() == doctest::Approx(std::log(1 + std::exp(0.5) + std::exp(-10.0))).epsilon(1e-6));
}

TEST_CASE("cross_entropy: every target ignored") {
  CHECK(std::isnan(cross_entropy(Tensor::zeros({2, 0}), Tensor::full({2}, -100, DType::i64)).item()));  // no classes
  Tape tape;
  const Tensor x = tape.watch(random_tensor({{3, 4}}, 1));
  const Tensor loss = cross_entropy(x, Tensor::full({3}, -100, DType::i64));
  CHECK(std::isnan(loss.item()));
  Gradients gradients;
  tape.backward(loss, gradients);
  CHECK(max_abs(gradients.of(x)) == 0);
}

TEST_CASE("softmax and cross_entropy: errors") {
  const Tensor x = Tensor::zeros({2, 3}), t = Tensor::zeros({2}, DType::i64);
  CHECK_THROWS_WITH_AS(softmax(x, 2), "[softmax] dimension 2 is out of range for a tensor of rank 2", Error);
  CHECK_THROWS_AS(softmax(t, 0), Error);
  CHECK_THROWS_AS(log_softmax(x, -3), Error);
  CHECK_THROWS_AS(log_softmax(Tensor::zeros({2}, DType::c64), 0), Error);
  CHECK_THROWS_AS(cross_entropy(x, Tensor()), Error);
  CHECK_THROWS_WITH_AS(cross_entropy(x, Tensor::zeros({2})),
                       "[cross_entropy] expected a target of dtype i64, got an f32 tensor of shape (2,)", Error);
  CHECK_THROWS_AS(cross_entropy(x, Tensor::zeros({3}, DType::i64)), Error);
  CHECK_THROWS_WITH_AS(cross_entropy(x, Tensor::full({2}, 3, DType::i64)),
                       "[cross_entropy] expected targets from 0 to 2, or the ignored index -100, got 3", Error);
  CHECK_THROWS_AS(cross_entropy(x, Tensor::full({2}, -1, DType::i64)), Error);
  CHECK(cross_entropy(x, t).item() == doctest::Approx(std::log(3.0)));
}

}  // namespace weft::test
