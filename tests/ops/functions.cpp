// Tests of functions of one real tensor, powers, clamp, and operators with numbers.
#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "every_isa.h"
#include "op_table.h"

namespace weft::test {
namespace {

using Ins = const std::vector<Tensor>&;

template <class F>
Function on_first(F f) {
  return [f](Ins in) { return f(in[0]); };
}

Function raised(double exponent) {
  return [exponent](Ins in) { return pow(in[0], exponent); };
}
Function raised_plainly(double exponent) {
  return loop([exponent](double x) { return std::pow(x, exponent); });
}

double plain_sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

const In nothing{{3, 0}};

const OpCases function_cases{
    {"neg", {wide_in}, on_first(neg), loop([](double x) { return -x; })},
    {"neg complex", {complex_in({3, 5})}, on_first(neg), on_first([](const Tensor& x) { return scale(x, -1); })},
    {"abs", {kinked_in}, on_first(abs), loop([](double x) { return std::abs(x); })},
    {"sign", {kinked_in}, on_first(sign), loop([](double x) { return x > 0 ? 1.0 : -1.0; })},
    {"sin", {{{3, 37}, -30, 30}}, on_first(sin), loop([](double x) { return std::sin(x); })},
    {"cos", {{{3, 37}, -30, 30}}, on_first(cos), loop([](double x) { return std::cos(x); })},
    {"relu by name", {kinked_in}, on_first(relu), loop([](double x) { return x > 0 ? x : 0; })},
    {"gelu by name", {wide_in}, on_first(gelu), loop([](double x) { return 0.5 * x * std::erfc(-x / std::sqrt(2)); })},
    {"silu by name", {wide_in}, on_first(silu), loop([](double x) { return x * plain_sigmoid(x); })},
    {"sigmoid by name", {wide_in}, on_first(sigmoid), loop(plain_sigmoid)},
    {"tanh by name", {wide_in}, on_first(tanh), loop([](double x) { return std::tanh(x); })},
    {"softplus", {{{3, 37}, -30, 30}}, on_first(softplus), loop([](double x) {
       return x > 0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x));
     })},
    {"erf", {{{3, 37}, -3, 3}}, on_first(erf), loop([](double x) { return std::erf(x); })},
    {"expm1", {{{3, 37}, -2, 2}}, on_first(expm1), loop([](double x) { return std::expm1(x); })},
    {"log1p", {{{3, 37}, -0.8, 4}}, on_first(log1p), loop([](double x) { return std::log1p(x); })},
    {"rsqrt", {positive_in}, on_first(rsqrt), loop([](double x) { return 1 / std::sqrt(x); })},
    {"reciprocal", {{{3, 37}, -4, 4, 0.3}}, on_first(reciprocal), loop([](double x) { return 1 / x; })},
    {"pow -1", {{{3, 37}, -4, 4, 0.3}}, raised(-1), raised_plainly(-1)},
    {"pow 0", {wide_in}, raised(0), raised_plainly(0)},
    {"pow 1", {wide_in}, raised(1), raised_plainly(1)},
    {"pow 2", {wide_in}, raised(2), raised_plainly(2)},
    {"pow 3", {wide_in}, raised(3), raised_plainly(3)},
    {"pow 4", {wide_in}, raised(4), raised_plainly(4)},
    {"pow -3", {{{3, 37}, -4, 4, 0.5}}, raised(-3), raised_plainly(-3)},
    {"pow 0.5", {positive_in}, raised(0.5), raised_plainly(0.5)},
    {"pow -1.7", {positive_in}, raised(-1.7), raised_plainly(-1.7)},
    {"clamp", {kinked_in}, on_first([](const Tensor& x) { return clamp(x, -1.5, 2); }), loop([](double x) {
       return x < -1.5 ? -1.5 : x > 2 ? 2 : x;
     })},
    {"clamp from below",
     {kinked_in},
     on_first([](const Tensor& x) { return clamp(x, 0, INFINITY); }),
     loop([](double x) { return x > 0 ? x : 0; })},
    {"x + c", {wide_in}, on_first([](const Tensor& x) { return x + 0.3; }), loop([](double x) { return x + 0.3; })},
    {"c + x", {wide_in}, on_first([](const Tensor& x) { return 0.3 + x; }), loop([](double x) { return 0.3 + x; })},
    {"x - c", {wide_in}, on_first([](const Tensor& x) { return x - 0.3; }), loop([](double x) { return x - 0.3; })},
    {"c - x", {wide_in}, on_first([](const Tensor& x) { return 0.3 - x; }), loop([](double x) { return 0.3 - x; })},
    {"x * c", {wide_in}, on_first([](const Tensor& x) { return x * 0.3; }), loop([](double x) { return x * 0.3; })},
    {"c * x", {wide_in}, on_first([](const Tensor& x) { return 0.3 * x; }), loop([](double x) { return 0.3 * x; })},
    {"x / c", {wide_in}, on_first([](const Tensor& x) { return x / 0.3; }), loop([](double x) { return x / 0.3; })},
    {"c / x", {{{3, 37}, -4, 4, 0.3}}, on_first([](const Tensor& x) { return 0.3 / x; }), loop([](double x) {
       return 0.3 / x;
     })},
    {"-x", {wide_in}, on_first([](const Tensor& x) { return -x; }), loop([](double x) { return -x; })},
    {"complex with numbers",
     {complex_in({3, 5})},
     on_first([](const Tensor& z) { return 2.0 - (z + 1.0) / 4.0; }),
     on_first([](const Tensor& z) { return complex(1.75 - real(z) * 0.25, imag(z) * -0.25); })},
    {"number over complex",
     {complex_in({3, 5})},
     on_first([](const Tensor& z) { return 3.0 / (z + 4.0); }),
     on_first([](const Tensor& z) {
       const Tensor a = real(z) + 4.0, b = imag(z), square_size = square(a) + square(b);
       return complex(3.0 * a / square_size, -3.0 * b / square_size);
     })},
    {"sin of nothing", {nothing}, on_first(sin)},
    {"pow of nothing", {nothing}, raised(2.5)},
    {"clamp of nothing", {nothing}, on_first([](const Tensor& x) { return clamp(x, 0, 1); })},
    {"c / nothing", {nothing}, on_first([](const Tensor& x) { return 1.0 / x; })},
};

constexpr double infinity = std::numeric_limits<double>::infinity();

// The value and the derivative of a function at one point.
struct At {
  double value, slope;
};
template <class F>
At at(F f, double x, DType dtype) {
  Tape tape;
  const Tensor leaf = tape.watch(Tensor::scalar(x, dtype));
  const Tensor y = f(leaf);
  Gradients gradients;
  tape.backward(y, gradients);
  return {y.item(), gradients.of(leaf).item()};
}

void check(const At& got, double value, double slope) {
  if (std::isnan(value)) CHECK(std::isnan(got.value));
  else CHECK(got.value == value);
  if (std::isnan(slope)) CHECK(std::isnan(got.slope));
  else CHECK(got.slope == slope);
}

}  // namespace

TEST_CASE("functions at 0, infinity and NaN, as in PyTorch") {
  const double nan = std::nan("");
  for_every_isa([&] {
    for (DType dtype : {DType::f32, DType::f64, DType::bf16}) {
      CAPTURE(dtype_name(dtype));
      check(at(abs, 0, dtype), 0, 0);
      check(at(abs, -infinity, dtype), infinity, -1);
      check(at(abs, nan, dtype), nan, 0);
      check(at(sign, 0, dtype), 0, 0);
      check(at(sign, nan, dtype), 0, 0);
      check(at(sign, -infinity, dtype), -1, 0);
      check(at(sin, 0, dtype), 0, 1);
      CHECK(std::signbit(at(sin, -0.0, dtype).value));
      check(at(cos, 0, dtype), 1, 0);
      for (double x : {infinity, -infinity, nan}) {
        check(at(sin, x, dtype), nan, nan);
        check(at(cos, x, dtype), nan, nan);
      }
      check(at(softplus, -infinity, dtype), 0, 0);
      check(at(softplus, infinity, dtype), infinity, 1);
      check(at(softplus, 300, dtype), 300, 1);
      CHECK(std::isnan(at(softplus, nan, dtype).value));
      check(at(erf, infinity, dtype), 1, 0);
      check(at(erf, -infinity, dtype), -1, 0);
      check(at(expm1, -infinity, dtype), -1, 0);
      check(at(log1p, -1, dtype), -infinity, infinity);
      check(at(log1p, infinity, dtype), infinity, 0);
      CHECK(std::isnan(at(log1p, -2, dtype).value));
      CHECK(std::signbit(at(log1p, -0.0, dtype).value));
      check(at(rsqrt, 0, dtype), infinity, -infinity);
      check(at(rsqrt, infinity, dtype), 0, 0);
      CHECK(std::isnan(at(rsqrt, -1, dtype).value));
      check(at(reciprocal, 0, dtype), infinity, -infinity);
      check(at(reciprocal, -infinity, dtype), 0, 0);
      const auto clamped = [](const Tensor& x) { return clamp(x, -1, 2); };
      check(at(clamped, -1, dtype), -1, 1);  // the gradient passes through at the bounds
      check(at(clamped, 2, dtype), 2, 1);
      check(at(clamped, 2.5, dtype), 2, 0);
      check(at(clamped, -infinity, dtype), -1, 0);
      check(at(clamped, nan, dtype), nan, 0);
      check(at([](const Tensor& x) { return clamp(x, 3, 1); }, 2, dtype), 1, 0);
    }
  });
}

TEST_CASE("reciprocal and its gradient where x² overflows") {
  check(at(reciprocal, 0x1p100, DType::f32), 0x1p-100, 0);
  check(at(reciprocal, 0x1p-70, DType::f32), 0x1p70, -infinity);
  check(at(reciprocal, 0x1p-64, DType::f32), 0x1p64, -infinity);
  check(at([](const Tensor& x) { return 0x1p-100 / x; }, 0x1p-70, DType::f32), 0x1p-30, -0x1p40);
  check(at([](const Tensor& x) { return 0x1p100 / x; }, 0x1p70, DType::f32), 0x1p30, -0x1p-40);
}

TEST_CASE("pow: the special cases of C, and gradients as in PyTorch") {
  const double nan = std::nan("");
  const std::vector<double> bases{0, -0.0, 1, -1, 0.5, -0.5, 2, -2, 3, -3, infinity, -infinity, nan};
  const std::vector<double> exponents{0,    -0.0, 1, -1,  2,        -2,        3,   -3,     0.5,
                                      -0.5, 4,    5, 2.5, infinity, -infinity, nan, 0x1p53, 0x1p52 + 1};
  for_every_isa([&] {
    for (DType dtype : {DType::f32, DType::f64})
      for (const double base : bases)
        for (const double given : exponents) {
          const Tensor b = Tensor::scalar(given, dtype), a = Tensor::scalar(base, dtype);
          const double exponent = b.item(), want = std::pow(base, exponent);
          CAPTURE(base);
          CAPTURE(exponent);
          for (const double got : {pow(a, b).item(), pow(a, exponent).item()}) {
            if (std::isnan(want)) CHECK(std::isnan(got));
            else if (std::isinf(want)) CHECK(got == want);
            else CHECK(got == doctest::Approx(want).epsilon(dtype == DType::f32 ? 1e-7 : 1e-15));
            if (want == 0) CHECK(std::signbit(got) == std::signbit(want));
          }
        }
  });
  struct Slopes {
    double base, exponent, of_base, of_exponent;
  };
  for (const Slopes& s : {Slopes{0, 0, 0, 0},
                          {2, 0, 0, std::log(2)},
                          {0, 2, 0, 0},
                          {0, 1, 1, 0},
                          {0, -1, -infinity, -infinity},
                          {-2, 3, 12, nan},
                          {0, 0.5, infinity, 0}}) {
    CAPTURE(s.base);
    CAPTURE(s.exponent);
    Tape tape;
    const Tensor a = tape.watch(Tensor::scalar(s.base, DType::f64));
    const Tensor b = tape.watch(Tensor::scalar(s.exponent, DType::f64));
    Gradients gradients;
    tape.backward(pow(a, b), gradients);
    check({gradients.of(a).item(), gradients.of(b).item()}, s.of_base, s.of_exponent);
    check(at([&](const Tensor& x) { return pow(x, s.exponent); }, s.base, DType::f64), std::pow(s.base, s.exponent),
          s.of_base);
  }
}

TEST_CASE("operators with numbers compute in f32 for bf16 and round once") {
  const Tensor x = Tensor::from<bfloat16>({bfloat16(1), bfloat16(3), bfloat16(100)}, {3});
  const auto same = [](const Tensor& got, const Tensor& wide) {
    CHECK(same_bits(got, raw::convert(wide, DType::bf16)));
  };
  const Tensor wide = raw::convert(x, DType::f32);
  same(x + 0.00391, wide + 0.00391);  // 1 + 0.00391 rounds up, but 0.00391 in bf16 is 0.0039062
  same(x / 3.0, wide / 3.0);
  same(1.01 / x, 1.01 / wide);
  same(clamp(x, 1.005, 2.995), clamp(wide, 1.005, 2.995));
  CHECK(same_bits(x * 1.0, x));
}

TEST_CASE("functions: errors") {
  const Tensor whole = Tensor::zeros({2, 3}, DType::i64), z = Tensor::zeros({2, 3}, DType::c64), x = Tensor::zeros({2});
  CHECK_THROWS_WITH_AS(sin(whole), "[sin] expected a bf16, f32 or f64 tensor, got an i64 tensor of shape (2, 3)",
                       Error);
  CHECK_THROWS_WITH_AS(tanh(z), "[tanh] expected a bf16, f32 or f64 tensor, got a c64 tensor of shape (2, 3)", Error);
  CHECK_THROWS_WITH_AS(neg(whole), "[neg] expected a real or complex tensor, got an i64 tensor of shape (2, 3)", Error);
  CHECK_THROWS_WITH_AS(clamp(x, std::nan(""), 1), "[clamp] expected bounds other than NaN, got nan and 1.000000",
                       Error);
  for (Tensor (*f)(const Tensor&) :
       {abs, sign, cos, relu, gelu, silu, sigmoid, softplus, erf, rsqrt, reciprocal, log1p, expm1, neg}) {
    CHECK_THROWS_AS(f(whole), Error);
    CHECK_THROWS_AS(f(Tensor()), Error);
  }
  CHECK_THROWS_AS(pow(z, 2), Error);
  CHECK_THROWS_AS(pow(x, z), Error);
  CHECK_THROWS_AS(clamp(whole, 0, 1), Error);
  CHECK_THROWS_AS(whole + 1, Error);
  CHECK_THROWS_AS(Tensor() / 1, Error);
  CHECK_THROWS_AS(1 / Tensor(), Error);
}

}  // namespace weft::test
