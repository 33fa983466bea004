#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <string>

#include "every_isa.h"
#include "op_table.h"
#include "weft/context.h"

namespace weft::test {
namespace {

using Ins = const std::vector<Tensor>&;

Function act(Activation f) {
  return [f](Ins in) { return activation(in[0], f); };
}

double logistic(double x) { return 1 / (1 + std::exp(-x)); }
double elu(double x) { return x > 0 ? x : std::expm1(x); }
double gelu_tanh(double x) {
  return 0.5 * x * (1 + std::tanh(std::sqrt(2 / 3.14159265358979323846) * (x + 0.044715 * x * x * x)));
}

const OpCases activation_cases{
    {"none", {wide_in}, act(Activation::none), loop([](double x) { return x; })},
    {"relu", {kinked_in}, act(Activation::relu), loop([](double x) { return x > 0 ? x : 0; })},
    {"leaky relu", {kinked_in}, act(Activation::leaky_relu), loop([](double x) { return x > 0 ? x : 0.01 * x; })},
    {"gelu", {wide_in}, act(Activation::gelu), loop([](double x) { return 0.5 * x * std::erfc(-x / std::sqrt(2)); })},
    {"gelu_tanh", {wide_in}, act(Activation::gelu_tanh), loop(gelu_tanh)},
    {"silu", {wide_in}, act(Activation::silu), loop([](double x) { return x * logistic(x); })},
    {"elu", {kinked_in}, act(Activation::elu), loop(elu)},
    {"1+elu", {kinked_in}, act(Activation::one_plus_elu), loop([](double x) { return 1 + elu(x); })},
    {"2+elu", {kinked_in}, act(Activation::two_plus_elu), loop([](double x) { return 2 + elu(x); })},
    {"sigmoid", {wide_in}, act(Activation::sigmoid), loop(logistic)},
    {"tanh", {wide_in}, act(Activation::tanh), loop([](double x) { return std::tanh(x); })},
    {"exp activation", {kinked_in}, act(Activation::exp), loop([](double x) { return std::exp(x); })},
    {"gelu nothing", {{{0, 3}}}, act(Activation::gelu)},
    {"gelu of gelu",
     {{{2, 9}}},
     [](Ins in) { return activation(mul(activation(in[0], Activation::gelu), in[0]), Activation::gelu); }},
    {"exp", {kinked_in}, [](Ins in) { return exp(in[0]); }, loop([](double x) { return std::exp(x); })},
    {"log", {positive_in}, [](Ins in) { return log(in[0]); }, loop([](double x) { return std::log(x); })},
    {"sqrt", {positive_in}, [](Ins in) { return sqrt(in[0]); }, loop([](double x) { return std::sqrt(x); })},
    {"square", {wide_in}, [](Ins in) { return square(in[0]); }, loop([](double x) { return x * x; })},
    {"square of a sum", {{{4, 5}}, {{5}}}, [](Ins in) { return square(add(in[0], in[1])); }},
    {"log of nothing", {{{3, 0}}}, [](Ins in) { return log(in[0]); }},
    {"sqrt of exp, used twice",
     {{{3, 5}}},
     [](Ins in) {
       const Tensor e = exp(in[0]);
       return add(sqrt(e), e);
     }},
    {"scale", {wide_in}, [](Ins in) { return scale(in[0], -2.5); }, loop([](double x) { return -2.5 * x; })},
    {"scale complex",
     {complex_in({3, 7})},
     [](Ins in) { return scale(in[0], 1.5); },
     [](Ins in) { return add(in[0], mul(in[0], raw::convert(Tensor::scalar(0.5, DType::f64), DType::c128))); }},
    {"dropout",
     {{{5, 23}}},
     [](Ins in) { return dropout(in[0], 0.4, Random(3, 5)); },
     [](Ins in) {
       std::vector<double> x = in[0].to_vector<double>();
       for (std::size_t i = 0; i < x.size(); ++i) x[i] = Random(3, 5).uniform(i) < 0.4 ? 0 : x[i] / 0.6;
       return Tensor::from(x, in[0].shape());
     }},
    {"dropout nothing", {{{2, 0}}}, [](Ins in) { return dropout(in[0], 0.5, Random(1)); }},
    {"complex", {{{3, 5}}, {{3, 5}}}, [](Ins in) { return complex(in[0], in[1]); }},
    {"real", {complex_in({3, 5})}, [](Ins in) { return real(in[0]); }},
    {"imag", {complex_in({3, 5})}, [](Ins in) { return imag(in[0]); }},
    {"conj",
     {complex_in({3, 5})},
     [](Ins in) { return conj(in[0]); },
     [](Ins in) { return complex(real(in[0]), scale(imag(in[0]), -1)); }},
    {"squared magnitude",
     {complex_in({7})},
     [](Ins in) { return real(mul(in[0], conj(in[0]))); },
     [](Ins in) { return add(square(real(in[0])), square(imag(in[0]))); }},
    {"real of nothing", {complex_in({0, 2})}, [](Ins in) { return real(in[0]); }},
};

}  // namespace

TEST_CASE("activation names are converted in both directions") {
  for (const char* name :
       {"none", "relu", "gelu", "gelu_tanh", "silu", "elu", "1+elu", "2+elu", "sigmoid", "tanh", "exp", "leaky_relu"})
    CHECK(std::string(activation_name(activation_from_name(name))) == name);
  for (int number = 0; number < activation_count; ++number)
    CHECK(activation_from_name(activation_name(static_cast<Activation>(number))) == static_cast<Activation>(number));
  CHECK(activation_from_name("leak") == Activation::leaky_relu);
  CHECK(activation_from_name("leaky_relu") == Activation::leaky_relu);
  for (const char* name : {"gelu_new", "gelu_fast", "gelu_pytorch_tanh"})
    CHECK(activation_from_name(name) == Activation::gelu_tanh);
  CHECK(activation_from_name("swish") == Activation::silu);
  for (const char* name : {"identity", "linear"}) CHECK(activation_from_name(name) == Activation::none);
  CHECK_THROWS_WITH_AS(activation_from_name("GELU"),
                       doctest::Contains("[activation] expected one of none, relu, gelu, gelu_tanh, silu, elu, "),
                       Error);
  CHECK_THROWS_AS(activation_name(static_cast<Activation>(activation_count)), Error);
  CHECK_THROWS_AS(activation_name(static_cast<Activation>(-1)), Error);
  CHECK_THROWS_AS(activation_from_name(""), Error);
  CHECK_THROWS_AS(activation(Tensor::zeros({2}), static_cast<Activation>(99)), Error);
}

TEST_CASE("activations of NaN and infinity") {
  const double inf = std::numeric_limits<double>::infinity();
  for (DType dtype : {DType::f32, DType::f64}) {
    const auto at = [dtype](Activation f, double x) { return activation(Tensor::scalar(x, dtype), f).item(); };
    for (const ActivationName& known : activation_names) {
      CAPTURE(std::string(known.name));
      CHECK(std::isnan(at(known.value, std::nan(""))));
    }
    for (const char* name : {"relu", "gelu", "gelu_tanh", "silu", "elu", "1+elu", "exp", "leaky_relu"})
      CHECK(at(activation_from_name(name), inf) == inf);
    CHECK(at(Activation::relu, -inf) == 0);
    CHECK(at(Activation::elu, -inf) == -1);
    CHECK(at(Activation::two_plus_elu, -inf) == 1);
    CHECK(at(Activation::sigmoid, -inf) == 0);
    CHECK(at(Activation::tanh, -inf) == -1);
    CHECK(at(Activation::gelu, -30) == 0);
  }
}

TEST_CASE("gradients of activations at 0, of huge numbers, infinity and NaN") {
  const double inf = std::numeric_limits<double>::infinity();
  struct Slopes {
    Activation f;
    double at_zero, below, above;  // below: for -x with a huge x
  };
  const std::vector<Slopes> all{
      {Activation::none, 1, 1, 1},       {Activation::relu, 0, 0, 1},         {Activation::leaky_relu, 0.01, 0.01, 1},
      {Activation::gelu, 0.5, 0, 1},     {Activation::gelu_tanh, 0.5, 0, 1},  {Activation::silu, 0.5, 0, 1},
      {Activation::elu, 1, 0, 1},        {Activation::one_plus_elu, 1, 0, 1}, {Activation::two_plus_elu, 1, 0, 1},
      {Activation::sigmoid, 0.25, 0, 0}, {Activation::tanh, 1, 0, 0},         {Activation::exp, 1, 0, inf}};
  REQUIRE(static_cast<int>(all.size()) == activation_count);
  for_every_isa([&] {
    for (DType dtype : {DType::f32, DType::f64})
      for (const Slopes& s : all) {
        CAPTURE(std::string(activation_name(s.f)));
        const auto slope = [&](double x) {
          Tape tape;
          const Tensor leaf = tape.watch(Tensor::scalar(x, dtype));
          Gradients gradients;
          tape.backward(activation(leaf, s.f), gradients);
          return gradients.of(leaf).item();
        };
        const auto rounded = [dtype](double x) { return Tensor::scalar(x, dtype).item(); };
        CHECK(slope(0) == doctest::Approx(s.at_zero).epsilon(1e-6));
        CHECK(slope(-0.0) == doctest::Approx(s.at_zero).epsilon(1e-6));
        const bool product = s.f == Activation::gelu_tanh || s.f == Activation::silu;  // infinity · 0 is NaN
        for (double x : {1e3, 1e10, 3e19, 1e38, dtype == DType::f32 ? 3e38 : 1e308, inf}) {
          CAPTURE(x);
          if (product && x == inf) continue;
          CHECK(slope(x) == rounded(s.above));
          CHECK(slope(-x) == rounded(s.below));
        }
        const bool piecewise = s.f == Activation::none || s.f == Activation::relu || s.f == Activation::leaky_relu;
        CHECK(std::isnan(slope(std::nan(""))) != piecewise);
      }
  });
}

TEST_CASE("the gradient of gelu_tanh beyond the range of its case in the table") {
  const auto slope = [](double x) {  // s + 2x·s(1-s)·u', s = sigmoid(2u)
    const double root = std::sqrt(2 / 3.14159265358979323846), s = logistic(2 * root * (x + 0.044715 * x * x * x));
    return s + 2 * x * s * (1 - s) * root * (1 + 3 * 0.044715 * x * x);
  };
  for (double x = -12; x <= 12; x += 0.125) {
    CAPTURE(x);
    Tape tape;
    const Tensor leaf = tape.watch(Tensor::scalar(x, DType::f64));
    Gradients gradients;
    tape.backward(activation(leaf, Activation::gelu_tanh), gradients);
    CHECK(std::abs(gradients.of(leaf).item() - slope(x)) <= 1e-13);
  }
}

TEST_CASE("elementwise functions: errors") {
  const Tensor whole = Tensor::zeros({2, 3}, DType::i64), z = Tensor::zeros({2, 3}, DType::c64),
               x = Tensor::zeros({2, 3});
  CHECK_THROWS_WITH_AS(exp(whole), "[exp] expected a bf16, f32 or f64 tensor, got an i64 tensor of shape (2, 3)",
                       Error);
  CHECK_THROWS_AS(log(z), Error);
  CHECK_THROWS_AS(sqrt(Tensor()), Error);
  CHECK_THROWS_AS(activation(z, Activation::gelu), Error);
  CHECK_THROWS_AS(scale(whole, 2), Error);
  CHECK_THROWS_WITH_AS(real(x), "[real] expected a c64 or c128 tensor, got an f32 tensor of shape (2, 3)", Error);
  CHECK_THROWS_AS(conj(x), Error);
  CHECK_THROWS_AS(complex(x, Tensor::zeros({3, 2})), Error);
  CHECK_THROWS_AS(complex(x, Tensor::zeros({2, 3}, DType::f64)), Error);
  CHECK_THROWS_AS(complex(z, z), Error);
}

TEST_CASE("dropout uses the same random numbers on every instruction set") {
  const Tensor x = Tensor::full({40001}, 1.0);
  for (const Random& random : {Random(1), Random(0xfedcba9876543210, 0x123456789abcdef1)})
    for (Isa isa : available_isas()) {
      Context context;
      context.set_isa(isa);
      ContextScope scope(context);
      const std::vector<float> y = dropout(x, 0.3, random).to_vector<float>();
      std::size_t wrong = 0;
      for (std::size_t i = 0; i < y.size(); ++i) wrong += (y[i] == 0) != (random.uniform(i) < 0.3);
      CHECK(wrong == 0);
    }
}

TEST_CASE("dropout drops the expected share, with the same result for every number of threads") {
  const Tensor x = Tensor::full({300, 100}, 2.0);
  const auto with_threads = [&](int threads) {
    Context context;
    context.set_threads(threads);
    ContextScope scope(context);
    return dropout(x, 0.25, Random(9));
  };
  const Tensor y = with_threads(1);
  for (int threads : {2, 3, 8}) CHECK(same_bits(with_threads(threads), y));
  double dropped = 0;
  for (const float v : y.to_vector<float>()) {
    CHECK((v == 0 || v == doctest::Approx(2 / 0.75)));
    dropped += v == 0;
  }
  CHECK(dropped / 30000 == doctest::Approx(0.25).epsilon(0.03));
  CHECK(same_bits(dropout(x, 0, Random(9)), x));
  CHECK(!same_bits(dropout(x, 0.25, Random(9).split(1)), y));
  CHECK_THROWS_WITH_AS(dropout(x, 1, Random(1)), "[dropout] expected 0 <= p < 1, got 1.000000", Error);
  CHECK_THROWS_AS(dropout(x, -0.1, Random(1)), Error);
  CHECK_THROWS_AS(dropout(x, std::nan(""), Random(1)), Error);
}

}  // namespace weft::test
