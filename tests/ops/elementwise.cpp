#include <doctest/doctest.h>

#include <cmath>
#include <complex>
#include <limits>

#include "op_table.h"

namespace weft::test {
namespace {

using Ins = const std::vector<Tensor>&;

// Computes y[i] = f(a[i], b[i]) by loops with broadcast indices.
template <class F>
Function broadcast_loops(F f) {
  return [f](Ins in) {
    const Tensor a = raw::contiguous(expand(in[0], add(in[0], in[1]).shape()));
    const Tensor b = raw::contiguous(expand(in[1], a.shape()));
    Tensor y = Tensor::empty(a.shape(), a.dtype());
    double* p = y.mutable_data<double>();
    for (std::int64_t i = 0; i < y.numel(); ++i) p[i] = f(a.data<double>()[i], b.data<double>()[i]);
    return y;
  };
}

const Function add_two = [](Ins in) { return add(in[0], in[1]); };
const Function sub_two = [](Ins in) { return sub(in[0], in[1]); };
const Function mul_two = [](Ins in) { return mul(in[0], in[1]); };
const Function div_two = [](Ins in) { return div(in[0], in[1]); };

// Numbers whose parts are both at least 0.2 away from 0.
In far_complex_in(const Shape& shape) { return {shape, -1, 1, 0.2, DType::c128, true}; }

// a conj(b) / |b|²
Tensor complex_quotient(Ins in) {
  const Tensor size = add(square(real(in[1])), square(imag(in[1])));
  const Tensor product = mul(in[0], conj(in[1]));
  return complex(div(real(product), size), div(imag(product), size));
}

const OpCases elementwise_cases{
    {"add", {{{5, 7}}, {{5, 7}}}, add_two, broadcast_loops([](double a, double b) { return a + b; })},
    {"add row", {{{5, 17}}, {{17}}}, add_two, broadcast_loops([](double a, double b) { return a + b; })},
    {"add column", {{{5, 17}}, {{5, 1}}}, add_two, broadcast_loops([](double a, double b) { return a + b; })},
    {"sub outer", {{{1, 9}}, {{4, 1}}}, sub_two, broadcast_loops([](double a, double b) { return a - b; })},
    {"sub scalar left", {{{}}, {{4, 3}}}, sub_two, broadcast_loops([](double a, double b) { return a - b; })},
    {"mul", {{{3, 1, 5}}, {{4, 1}}}, mul_two, broadcast_loops([](double a, double b) { return a * b; })},
    {"mul both broadcast inside", {{{3, 1, 1}}, {{4, 1}}}, mul_two, broadcast_loops([](double a, double b) {
       return a * b;
     })},
    {"mul whose gradient nobody else holds", {{{3, 5}}, {{3, 1}}}, [](Ins in) { return scale(mul(in[0], in[1]), 3); }},
    {"mul with itself", {{{6}}}, [](Ins in) { return mul(in[0], in[0]); }},
    {"div", {{{3, 5}}, {{5}, 0.5, 2}}, div_two, broadcast_loops([](double a, double b) { return a / b; })},
    {"add nothing", {{{0, 3}}, {{3}}}, add_two},
    {"mul nothing", {{{2, 0}}, {{2, 1}}}, mul_two},
    {"add complex", {complex_in({3, 4}), complex_in({4})}, add_two},
    {"sub complex", {complex_in({3, 1}), complex_in({4})}, sub_two},
    {"mul complex", {complex_in({3, 4}), complex_in({4})}, mul_two},
    {"div complex", {complex_in({3, 4}), far_complex_in({4})}, div_two, complex_quotient},
    {"div complex column", {complex_in({3, 1}), far_complex_in({3, 5})}, div_two, complex_quotient},
    {"div complex by a scalar", {complex_in({3, 4}), far_complex_in({})}, div_two, complex_quotient},
    {"div complex nothing", {complex_in({0, 4}), complex_in({4})}, div_two},
    {"abs complex",
     {far_complex_in({3, 7})},
     [](Ins in) { return abs(in[0]); },
     [](Ins in) { return sqrt(add(square(real(in[0])), square(imag(in[0])))); }},
    {"angle",
     {far_complex_in({3, 7})},
     [](Ins in) { return angle(in[0]); },
     [](Ins in) {
       Tensor y = Tensor::empty(in[0].shape(), DType::f64);
       const auto z = in[0].to_vector<std::complex<double>>();
       for (std::size_t i = 0; i < z.size(); ++i) y.mutable_data<double>()[i] = std::arg(z[i]);
       return y;
     }},
    {"angle of nothing", {complex_in({0, 4})}, [](Ins in) { return angle(in[0]); }},
};

}  // namespace

TEST_CASE("elementwise: errors name the operation and the shapes") {
  const Tensor a = Tensor::zeros({2, 3}), b = Tensor::zeros({4}), d = Tensor::zeros({2, 3}, DType::f64);
  CHECK_THROWS_WITH_AS(add(a, b), "[add] shapes (2, 3) and (4,) don't broadcast", Error);
  CHECK_THROWS_WITH_AS(
      mul(a, d),
      "[mul] expected operands of the same dtype, got an f32 tensor of shape (2, 3) and an f64 tensor of shape (2, 3)",
      Error);
  CHECK_THROWS_AS(div(a, Tensor()), Error);
  CHECK_THROWS_AS(div(Tensor::zeros({2}, DType::i64), Tensor::zeros({2}, DType::i64)), Error);
  CHECK_THROWS_AS(add(Tensor::zeros({2}, DType::i64), Tensor::zeros({2}, DType::i64)), Error);
}

TEST_CASE("complex division: intermediate values don't overflow") {
  using C = std::complex<float>;
  const auto quotient = [](C a, C b) { return div(Tensor::from<C>({a}, {}), Tensor::from<C>({b}, {})).data<C>()[0]; };
  CHECK(quotient({1e30f, 1e30f}, {1e30f, 1e30f}) == C(1, 0));
  CHECK(quotient({0x1p-100f, 0}, {0, 0x1p-100f}) == C(0, -1));
  CHECK(quotient({6, 8}, {0, 2}) == C(4, -3));
  CHECK(quotient({6, 8}, {2, 0}) == C(3, 4));
  CHECK(std::isnan(quotient({1, 1}, {0, 0}).real()));
}

TEST_CASE("abs and angle of complex numbers: gradients at 0 and values without overflow") {
  using C = std::complex<double>;
  const auto at = [](Tensor (*f)(const Tensor&), C z) {
    Tape tape;
    const Tensor leaf = tape.watch(Tensor::from<C>({z}, {}));
    const Tensor y = f(leaf);
    Gradients gradients;
    tape.backward(y, gradients);
    return std::pair<double, C>{y.item(), gradients.of(leaf).data<C>()[0]};
  };
  const double pi = std::acos(-1.0);
  CHECK(at(abs, {0, 0}) == std::pair<double, C>{0, {0, 0}});
  CHECK(at(angle, {0, 0}) == std::pair<double, C>{0, {0, 0}});
  CHECK(at(abs, {3, -4}).first == 5);
  CHECK(std::abs(at(abs, {3, -4}).second - C(0.6, -0.8)) <= 1e-16);
  CHECK(at(abs, {3e300, 4e300}).first == doctest::Approx(5e300));
  CHECK(at(angle, {-2, 0}).first == pi);
  CHECK(at(angle, {-2, -0.0}).first == -pi);
  CHECK(at(angle, {-2, 0}).second == C(0, -0.5));
  CHECK(at(angle, {0, 4}).second == C(-0.25, 0));
  CHECK(std::isnan(at(abs, {std::nan(""), 0}).first));
  CHECK_THROWS_WITH_AS(angle(Tensor::zeros({2})),
                       "[angle] expected a c64 or c128 tensor, got an f32 tensor of shape (2,)", Error);
}

}  // namespace weft::test
