// Tests of losses that compare two tensors of the same shape.
#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "every_isa.h"
#include "op_table.h"

namespace weft::test {
namespace {

using Ins = const std::vector<Tensor>&;

// Returns the mean of f(x[i], t[i]), or the sum divided by `over`.
template <class F>
Function mean_of(F f, double over = 0) {
  return [f, over](Ins in) {
    const auto x = in[0].to_vector<double>(), t = in[1].to_vector<double>();
    double sum = 0;
    for (std::size_t i = 0; i < x.size(); ++i) sum += f(x[i], t[i]);
    return Tensor::scalar(sum / (over == 0 ? static_cast<double>(x.size()) : over), DType::f64);
  };
}
template <class F>
Function terms_of(F f) {
  return [f](Ins in) {
    auto x = in[0].to_vector<double>();
    const auto t = in[1].to_vector<double>();
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = f(x[i], t[i]);
    return Tensor::from(x, in[0].shape());
  };
}

double squared(double x, double t) { return (x - t) * (x - t); }
double absolute(double x, double t) { return std::abs(x - t); }
double huber(double x, double t) {
  const double e = std::abs(x - t);
  return e <= 0.75 ? e * e / 2 : 0.75 * (e - 0.375);
}
double cross(double x, double t) { return std::log1p(std::exp(x)) - x * t; }
double divergence(double x, double t) { return t * (std::log(t) - x); }
double log_divergence(double x, double t) { return std::exp(t) * (t - x); }

const std::vector<In> two_inputs{{{5, 17}, -2, 2}, {{5, 17}, -2, 2}};
const std::vector<In> logit_inputs{{{5, 17}, -4, 4}, {{5, 17}, 0, 1}};
const std::vector<In> probabilities{{{5, 17}, -4, -0.1}, {{5, 17}, 0.05, 1}};
const std::vector<In> logarithms{{{5, 17}, -4, -0.1}, {{5, 17}, -4, -0.1}};

using Loss = Tensor (*)(const Tensor&, const Tensor&, Reduction);
Function as(Loss loss, Reduction reduction) {
  return [=](Ins in) { return loss(in[0], in[1], reduction); };
}
Tensor huber_of(const Tensor& x, const Tensor& t, Reduction r) { return huber_loss(x, t, 0.75, r); }
Tensor kl(const Tensor& x, const Tensor& t, Reduction r) { return kl_divergence(x, t, r); }
Tensor kl_log(const Tensor& x, const Tensor& t, Reduction r) { return kl_divergence(x, t, r, true); }
constexpr Loss bce = binary_cross_entropy_with_logits;

const OpCases element_loss_cases{
    {"mse_loss", two_inputs, as(mse_loss, Reduction::mean), mean_of(squared)},
    {"mse_loss, terms", two_inputs, as(mse_loss, Reduction::none), terms_of(squared)},
    {"mse_loss, sum", two_inputs, as(mse_loss, Reduction::sum), mean_of(squared, 1)},
    {"l1_loss", two_inputs, as(l1_loss, Reduction::mean), mean_of(absolute)},
    {"l1_loss, terms", two_inputs, as(l1_loss, Reduction::none), terms_of(absolute)},
    {"huber_loss", two_inputs, as(huber_of, Reduction::mean), mean_of(huber)},
    {"huber_loss, terms", two_inputs, as(huber_of, Reduction::none), terms_of(huber)},
    {"binary_cross_entropy_with_logits", logit_inputs, as(bce, Reduction::mean), mean_of(cross)},
    {"binary_cross_entropy_with_logits, terms", logit_inputs, as(bce, Reduction::none), terms_of(cross)},
    {"binary_cross_entropy_with_logits, batch_mean", logit_inputs, as(bce, Reduction::batch_mean), mean_of(cross, 5)},
    {"kl_divergence", probabilities, as(kl, Reduction::mean), mean_of(divergence)},
    {"kl_divergence, terms", probabilities, as(kl, Reduction::none), terms_of(divergence)},
    {"kl_divergence, batch_mean", probabilities, as(kl, Reduction::batch_mean), mean_of(divergence, 5)},
    {"kl_divergence of logarithms", logarithms, as(kl_log, Reduction::mean), mean_of(log_divergence)},
    {"kl_divergence of logarithms, sum", logarithms, as(kl_log, Reduction::sum), mean_of(log_divergence, 1)},
    {"mse_loss of nothing, terms", {{{0, 3}}, {{0, 3}}}, as(mse_loss, Reduction::none)},
    {"binary_cross_entropy_with_logits of nothing, sum", {{{0, 3}}, {{0, 3}}}, as(bce, Reduction::sum)},
};

struct Slopes {
  double value, of_x, of_target;
};
Slopes at(Loss loss, double x, double t, DType dtype = DType::f64) {
  Tape tape;
  const Tensor a = tape.watch(Tensor::scalar(x, dtype)), b = tape.watch(Tensor::scalar(t, dtype));
  const Tensor y = loss(a, b, Reduction::sum);
  Gradients gradients;
  tape.backward(y, gradients);
  return {y.item(), gradients.of(a).item(), gradients.of(b).item()};
}

}  // namespace

TEST_CASE("losses: gradients at kinks and at 0") {
  for_every_isa([&] {
    for (DType dtype : {DType::f32, DType::f64}) {
      CHECK(at(l1_loss, 2, 2, dtype).of_x == 0);
      CHECK(at(huber_of, 0.75, 0, dtype).of_x == 0.75);
      CHECK(at(huber_of, -0.75, 0, dtype).of_x == -0.75);
      CHECK(at(huber_of, 1, 1, dtype).of_x == 0);
      // Logits are 0 at the start of many training runs.
      CHECK(at(bce, 0, 1, dtype).of_x == -0.5);
      CHECK(at(bce, 0, 0, dtype).of_x == 0.5);
      CHECK(at(bce, -0.0, 0.25, dtype).of_x == 0.25);
      CHECK(at(bce, 0, 1, dtype).value == doctest::Approx(std::log(2)).epsilon(1e-7));
    }
  });
}

TEST_CASE("mse, l1 and huber losses: infinity and NaN") {
  const double inf = std::numeric_limits<double>::infinity(), nan = std::nan("");
  for_every_isa([&] {
    for (DType dtype : {DType::f32, DType::f64}) {
      for (Loss loss : {Loss{mse_loss}, Loss{l1_loss}, Loss{huber_of}}) {
        const Slopes unknown = at(loss, nan, 1, dtype), far = at(loss, 1, inf, dtype);
        CHECK((std::isnan(unknown.value) && std::isnan(unknown.of_x) && std::isnan(unknown.of_target)));
        CHECK(far.value == inf);
      }
      CHECK(at(mse_loss, -inf, 1, dtype).of_x == -inf);
      CHECK(at(l1_loss, -inf, 1, dtype).of_x == -1);
      CHECK(at(l1_loss, -inf, 1, dtype).of_target == 1);
      CHECK(at(huber_of, -inf, 1, dtype).of_x == -0.75);
    }
  });
}

TEST_CASE("binary_cross_entropy_with_logits: no overflow and no loss of digits") {
  CHECK(at(bce, 1e4, 1).value == 0);
  CHECK(at(bce, -1e4, 0).value == 0);
  CHECK(at(bce, 1e4, 0).value == 1e4);
  CHECK(at(bce, -1e4, 1).value == 1e4);
  CHECK(at(bce, 30, 1, DType::f32).value == doctest::Approx(std::exp(-30.0)).epsilon(1e-6));
  CHECK(at(bce, -30, 0, DType::f32).value == doctest::Approx(std::exp(-30.0)).epsilon(1e-6));
  CHECK(at(bce, -30, 0).of_x == doctest::Approx(std::exp(-30.0)).epsilon(1e-12));
  CHECK(std::isnan(at(bce, std::nan(""), 0).value));
  CHECK(at(bce, std::numeric_limits<double>::infinity(), 0.5).value == std::numeric_limits<double>::infinity());
}

TEST_CASE("kl_divergence: a probability of 0 counts as 0") {
  const Slopes zero = at(kl, -1.5, 0);
  CHECK(zero.value == 0);
  CHECK(zero.of_x == 0);
  CHECK(zero.of_target == 1.5);
  CHECK(std::isnan(at(kl, -1.5, -0.1).value));
  CHECK(std::isnan(at(kl, -1.5, std::nan("")).value));
  // The divergence of two equal distributions is 0.
  const Tensor x = random_tensor({{4, 9}}, 3);
  CHECK(kl_divergence(log_softmax(x, 1), softmax(x, 1), Reduction::sum).item() == doctest::Approx(0).epsilon(1e-14));
  CHECK(kl_divergence(log_softmax(x, 1), log_softmax(x, 1), Reduction::batch_mean, true).item() == 0);
}

TEST_CASE("losses: bf16 gives the f32 loss of the same numbers, and the target may have another dtype") {
  const Tensor x = raw::convert(random_tensor({{7, 19}, -2, 2}, 1), DType::bf16);
  const Tensor t = raw::convert(random_tensor({{7, 19}, 0.1, 0.9}, 2), DType::f32);
  const Tensor wide = raw::convert(x, DType::f32);
  for (Loss loss : {Loss{mse_loss}, Loss{l1_loss}, Loss{huber_of}, bce, Loss{kl}}) {
    const auto run = [&](const Tensor& given, const Tensor& target) {
      return differentiate([&](Ins in) { return loss(in[0], in[1], Reduction::mean); }, {given, target}, {true, true});
    };
    const Differentiated got = run(x, t), want = run(wide, t);
    CHECK(got.y.dtype() == DType::f32);
    CHECK(same_bits(got.y, want.y));
    CHECK(got.gradients[0].dtype() == DType::bf16);
    CHECK(same_bits(got.gradients[0], raw::convert(want.gradients[0], DType::bf16)));
    CHECK(same_bits(got.gradients[1], want.gradients[1]));
    const Tensor target64 = raw::convert(t, DType::f64);
    CHECK(same_bits(loss(wide, target64, Reduction::mean), want.y));
  }
}

TEST_CASE("losses: errors") {
  const Tensor x = Tensor::zeros({2, 3}), one = Tensor::scalar(1);
  CHECK_THROWS_WITH_AS(mse_loss(x, Tensor::zeros({3})),
                       "[mse_loss] expected an output and a target of one shape, got (2, 3) and (3,)", Error);
  CHECK_THROWS_WITH_AS(huber_loss(x, x, 0), "[huber_loss] expected a delta above 0, got 0.000000", Error);
  CHECK_THROWS_AS(huber_loss(x, x, std::nan("")), Error);
  CHECK_THROWS_AS(huber_loss(x, x, INFINITY), Error);
  CHECK_THROWS_WITH_AS(kl_divergence(one, one, Reduction::batch_mean),
                       "[kl_divergence] expected at least one axis for batch_mean, got an f32 tensor of shape ()",
                       Error);
  CHECK_THROWS_AS(l1_loss(x, Tensor()), Error);
  CHECK_THROWS_AS(l1_loss(Tensor(), x), Error);
  CHECK_THROWS_AS(kl_divergence(x, Tensor::zeros({2, 3}, DType::c64)), Error);
  CHECK_THROWS_AS(binary_cross_entropy_with_logits(x, Tensor::zeros({2, 3}, DType::i64)), Error);
}

}  // namespace weft::test
