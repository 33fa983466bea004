#include <doctest/doctest.h>

#include "op_table.h"

namespace weft::test {
namespace {

using Ins = const std::vector<Tensor>&;

// y[i] = f(a[i], b[i]) by loops over the broadcast index.
template <class F>
Function loops(F f) {
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

const OpCases cases{
    {"add", {{{5, 7}}, {{5, 7}}}, add_two, loops([](double a, double b) { return a + b; })},
    {"add row", {{{5, 17}}, {{17}}}, add_two, loops([](double a, double b) { return a + b; })},
    {"add column", {{{5, 17}}, {{5, 1}}}, add_two, loops([](double a, double b) { return a + b; })},
    {"sub outer", {{{1, 9}}, {{4, 1}}}, sub_two, loops([](double a, double b) { return a - b; })},
    {"sub scalar left", {{{}}, {{4, 3}}}, sub_two, loops([](double a, double b) { return a - b; })},
    {"mul", {{{3, 1, 5}}, {{4, 1}}}, mul_two, loops([](double a, double b) { return a * b; })},
    {"mul both broadcast inside", {{{3, 1, 1}}, {{4, 1}}}, mul_two, loops([](double a, double b) { return a * b; })},
    {"mul whose gradient nobody else holds", {{{3, 5}}, {{3, 1}}}, [](Ins in) { return scale(mul(in[0], in[1]), 3); }},
    {"mul with itself", {{{6}}}, [](Ins in) { return mul(in[0], in[0]); }},
    {"div", {{{3, 5}}, {{5}, 0.5, 2}}, div_two, loops([](double a, double b) { return a / b; })},
    {"add nothing", {{{0, 3}}, {{3}}}, add_two},
    {"mul nothing", {{{2, 0}}, {{2, 1}}}, mul_two},
    {"add complex", {complex_in({3, 4}), complex_in({4})}, add_two},
    {"sub complex", {complex_in({3, 1}), complex_in({4})}, sub_two},
    {"mul complex", {complex_in({3, 4}), complex_in({4})}, mul_two},
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
  CHECK_THROWS_AS(add(Tensor::zeros({2}, DType::i64), Tensor::zeros({2}, DType::i64)), Error);
}

}  // namespace weft::test
