// Tests of the maximum, minimum and power of two tensors, of comparisons and of where.
#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "every_isa.h"
#include "op_table.h"
#include "weft/custom_op.h"

namespace weft::test {
namespace {

using Ins = const std::vector<Tensor>&;

Tensor dense(const Tensor& x, const Shape& shape) { return raw::contiguous(expand(x.detach(), shape)); }

// Computes y[i] = f(a[i], b[i]) by a loop over the broadcast operands.
template <class F>
Function loops(F f) {
  return [f](Ins in) {
    const Shape shape = broadcast_shapes("test", in[0].shape(), in[1].shape());
    const Tensor a = dense(in[0], shape), b = dense(in[1], shape);
    Tensor y = Tensor::empty(shape, a.dtype());
    double* p = y.mutable_data<double>();
    for (std::int64_t i = 0; i < y.numel(); ++i) p[i] = f(a.data<double>()[i], b.data<double>()[i]);
    return y;
  };
}

using Binary = Tensor (*)(const Tensor&, const Tensor&);
Function two(Binary f) {
  return [f](Ins in) { return f(in[0], in[1]); };
}
// Returns 3 a where the comparison holds, otherwise b.
Function chosen_by(Binary f) {
  return [f](Ins in) { return where(f(in[0], in[1]), scale(in[0], 3), in[1]); };
}
template <class F>
Function chosen_plainly(F f) {
  return loops([f](double a, double b) { return f(a, b) ? 3 * a : b; });
}

double larger(double a, double b) { return a > b ? a : b; }
double smaller(double a, double b) { return a < b ? a : b; }
double power(double a, double b) { return std::pow(a, b); }

const OpCases comparison_cases{
    {"maximum", {{{5, 17}}, {{5, 17}}}, two(maximum), loops(larger)},
    {"maximum row", {{{5, 17}}, {{17}}}, two(maximum), loops(larger)},
    {"maximum column", {{{5, 17}}, {{5, 1}}}, two(maximum), loops(larger)},
    {"maximum scalar left", {{{}}, {{5, 17}}}, two(maximum), loops(larger)},
    {"maximum outer", {{{1, 19}}, {{4, 1}}}, two(maximum), loops(larger)},
    {"minimum", {{{5, 17}}, {{5, 17}}}, two(minimum), loops(smaller)},
    {"minimum column", {{{5, 1}}, {{5, 17}}}, two(minimum), loops(smaller)},
    {"minimum both broadcast inside", {{{3, 1, 1}}, {{4, 1}}}, two(minimum), loops(smaller)},
    {"maximum of nothing", {{{0, 3}}, {{3}}}, two(maximum)},
    {"pow of tensors", {{{3, 37}, 0.3, 3}, {{3, 37}, -2, 2}}, two(static_cast<Binary>(pow)), loops(power)},
    {"pow with a row of exponents", {{{3, 37}, 0.3, 3}, {{37}, -2, 2}}, two(static_cast<Binary>(pow)), loops(power)},
    {"pow of a column", {{{5, 1}, 0.3, 3}, {{1, 7}, -2, 2}}, two(static_cast<Binary>(pow)), loops(power)},
    {"pow of one base", {{{}, 0.3, 3}, {{21}, -2, 2}}, two(static_cast<Binary>(pow)), loops(power)},
    {"where less", {{{5, 17}}, {{5, 17}}}, chosen_by(less), chosen_plainly([](double a, double b) { return a < b; })},
    {"where less, row", {{{5, 17}}, {{17}}}, chosen_by(less), chosen_plainly([](double a, double b) { return a < b; })},
    {"where less_equal", {{{33}}, {{1}}}, chosen_by(less_equal), chosen_plainly([](double a, double b) {
       return a <= b;
     })},
    {"where greater", {{{5, 1}}, {{19}}}, chosen_by(greater), chosen_plainly([](double a, double b) { return a > b; })},
    {"where greater_equal", {{{}}, {{19}}}, chosen_by(greater_equal), chosen_plainly([](double a, double b) {
       return a >= b;
     })},
    {"where equal", {{{35}}, {{35}}}, chosen_by(equal), loops([](double, double b) { return b; })},
    {"where not_equal", {{{35}}, {{35}}}, chosen_by(not_equal), loops([](double a, double) { return 3 * a; })},
    {"where with a mask of rows",
     {{{5, 1}}, {{5, 19}}, {{19}}},
     [](Ins in) { return where(less(in[0], 0.0), in[1], in[2]); },
     [](Ins in) {
       const Tensor m = dense(in[0], {5, 19}), a = dense(in[1], {5, 19}), b = dense(in[2], {5, 19});
       Tensor y = Tensor::empty({5, 19}, DType::f64);
       for (std::int64_t i = 0; i < 95; ++i)
         y.mutable_data<double>()[i] = m.data<double>()[i] < 0 ? a.data<double>()[i] : b.data<double>()[i];
       return y;
     }},
    {"where with a transposed mask of one column, and two scalars",
     {{{19, 5}}, {{}}, {{1}}},
     [](Ins in) { return where(transpose(less(in[0], 0.0), 0, 1), in[1], in[2]); },
     [](Ins in) {
       const double a = in[1].item(), b = in[2].item();
       Tensor y = Tensor::empty({5, 19}, DType::f64);
       const Tensor m = dense(transpose(in[0].detach(), 0, 1), {5, 19});
       for (std::int64_t i = 0; i < 95; ++i) y.mutable_data<double>()[i] = m.data<double>()[i] < 0 ? a : b;
       return y;
     }},
    {"where with numbers",
     {{{37}}},
     [](Ins in) { return where(greater(in[0], 0.1), in[0], -2) * where(less(in[0], -0.1), 0.5, in[0]); },
     [](Ins in) {
       std::vector<double> x = in[0].to_vector<double>();
       for (double& v : x) v = (v > 0.1 ? v : -2) * (v < -0.1 ? 0.5 : v);
       return Tensor::from(x, {37});
     }},
    {"where of complex",
     {complex_in({5, 7}), complex_in({7}), {{5, 1}}},
     [](Ins in) { return where(less(in[2], 0), in[0], in[1]); },
     [](Ins in) {
       const Tensor yes = expand(less(in[2], 0), {5, 7}), b = expand(in[1], {5, 7});
       return complex(where(yes, real(in[0]), real(b)), where(yes, imag(in[0]), imag(b)));
     }},
    {"where of nothing", {{{0, 3}}, {{3}}}, chosen_by(less)},
};

std::vector<double> numbers(const Tensor& x) { return raw::convert(x, DType::f64).to_vector<double>(); }

}  // namespace

TEST_CASE("maximum and minimum: equal operands share the gradient, and NaN propagates") {
  const double nan = std::nan(""), inf = std::numeric_limits<double>::infinity();
  for_every_isa([&] {
    for (DType dtype : {DType::bf16, DType::f32, DType::f64}) {
      CAPTURE(dtype_name(dtype));
      // 20 elements need whole vectors and a tail on every instruction set.
      std::vector<double> x, y;
      for (int i = 0; i < 4; ++i) {
        x.insert(x.end(), {1, 2, nan, 3, -inf});
        y.insert(y.end(), {1, 3, 1, nan, -inf});
      }
      Tape tape;
      const Tensor a = tape.watch(raw::convert(Tensor::from(x, {20}), dtype));
      const Tensor b = tape.watch(raw::convert(Tensor::from(y, {20}), dtype));
      Gradients high, low;
      const Tensor most = maximum(a, b), least = minimum(a, b);
      const std::vector<double> top = numbers(most), bottom = numbers(least);
      tape.backward(most, Tensor::full({20}, 4, dtype), high);
      Tape second;
      const Tensor c = second.watch(a.detach()), d = second.watch(b.detach());
      second.backward(minimum(c, d), Tensor::full({20}, 4, dtype), low);
      const std::vector<double> high_a = numbers(high.of(a)), high_b = numbers(high.of(b)), low_a = numbers(low.of(c)),
                                low_b = numbers(low.of(d));
      for (std::size_t i = 0; i < 20; i += 5) {
        CHECK(top[i] == 1);
        CHECK(top[i + 1] == 3);
        CHECK(bottom[i + 1] == 2);
        CHECK(std::isnan(top[i + 2]));
        CHECK(std::isnan(top[i + 3]));
        CHECK(std::isnan(bottom[i + 2]));
        CHECK(std::isnan(bottom[i + 3]));
        CHECK(top[i + 4] == -inf);
        const auto slopes = [i](const std::vector<double>& g) {
          return std::vector<double>(g.data() + i, g.data() + i + 5);
        };
        CHECK(slopes(high_a) == std::vector<double>{2, 0, 4, 4, 2});
        CHECK(slopes(high_b) == std::vector<double>{2, 4, 4, 4, 2});
        CHECK(slopes(low_a) == std::vector<double>{2, 4, 4, 4, 2});
        CHECK(slopes(low_b) == std::vector<double>{2, 0, 4, 4, 2});
      }
    }
  });
}

TEST_CASE("comparisons: masks of 0 and 1, NaN, every dtype") {
  const double nan = std::nan("");
  using Mask = std::vector<std::int8_t>;
  for_every_isa([&] {
    for (DType dtype : {DType::bf16, DType::f32, DType::f64, DType::i64}) {
      CAPTURE(dtype_name(dtype));
      const double odd = dtype == DType::i64 ? 1 : nan;  // compared with 0
      std::vector<double> x, y;
      Mask lt, le, gt, ge, eq, ne;
      for (int i = 0; i < 9; ++i) {
        x.insert(x.end(), {1, 2, 3, odd});
        y.insert(y.end(), {2, 2, 2, 0});
        lt.insert(lt.end(), {1, 0, 0, 0});
        le.insert(le.end(), {1, 1, 0, 0});
        const std::int8_t above = dtype == DType::i64;
        gt.insert(gt.end(), {0, 0, 1, above});
        ge.insert(ge.end(), {0, 1, 1, above});
        eq.insert(eq.end(), {0, 1, 0, 0});
        ne.insert(ne.end(), {1, 0, 1, 1});
      }
      const auto made = [dtype](const std::vector<double>& v) {
        if (dtype != DType::i64) return raw::convert(Tensor::from(v, {36}), dtype);
        return Tensor::from(std::vector<std::int64_t>(v.begin(), v.end()), {36});
      };
      const Tensor a = made(x), b = made(y);
      CHECK(less(a, b).dtype() == DType::i8);
      CHECK(less(a, b).to_vector<std::int8_t>() == lt);
      CHECK(less_equal(a, b).to_vector<std::int8_t>() == le);
      CHECK(greater(a, b).to_vector<std::int8_t>() == gt);
      CHECK(greater_equal(a, b).to_vector<std::int8_t>() == ge);
      CHECK(equal(a, b).to_vector<std::int8_t>() == eq);
      CHECK(not_equal(a, b).to_vector<std::int8_t>() == ne);
      // Compares a tensor with a number.
      const Tensor four = slice(a, 0, 0, 3);
      CHECK(less(four, 2).to_vector<std::int8_t>() == Mask{1, 0, 0});
      CHECK(less_equal(four, 2).to_vector<std::int8_t>() == Mask{1, 1, 0});
      CHECK(greater(four, 2).to_vector<std::int8_t>() == Mask{0, 0, 1});
      CHECK(greater_equal(four, 2).to_vector<std::int8_t>() == Mask{0, 1, 1});
      CHECK(equal(four, 2).to_vector<std::int8_t>() == Mask{0, 1, 0});
      CHECK(not_equal(four, 2).to_vector<std::int8_t>() == Mask{1, 0, 1});
    }
  });
}

TEST_CASE("comparisons are not recorded, and the mask of where has no gradient") {
  Tape tape;
  const Tensor x = tape.watch(Tensor::from<float>({-1, 2, 3}, {3}));
  const std::int64_t before = tape.records();
  const Tensor mask = less(x, 0);
  CHECK(tape.records() == before);
  CHECK(mask.node().tape == 0);
  Gradients gradients;
  tape.backward(sum(where(mask, scale(x, 5), x)), gradients);
  CHECK(gradients.of(x).to_vector<float>() == std::vector<float>{5, 1, 1});
}

TEST_CASE(
    "where: any byte but 0 is true, elements that are not chosen have no effect, i64 and every layout of the mask") {
  const Tensor mask = Tensor::from<std::int8_t>({0, 2, -1, 0, 127, -128}, {2, 3});
  for_every_isa([&] {
    for (DType dtype : {DType::bf16, DType::f32, DType::f64}) {
      Tape tape;
      const Tensor x = tape.watch(Tensor::from<double>({0, 1, 2, 3, 4, 5}, {2, 3}));
      const Tensor a = dtype == DType::f64 ? x : cast(x, dtype);
      const Tensor y = where(mask, a, std::nan("")), z = where(equal(a, 4), 0, y);
      Gradients gradients;
      tape.backward(sum(where(mask, z, 1)), gradients);
      CHECK(gradients.of(x).to_vector<double>() == std::vector<double>{0, 1, 1, 0, 0, 1});
      CHECK(where(mask, z.detach(), 1).dtype() == dtype);
      CHECK(numbers(where(mask, z.detach(), 1)) == std::vector<double>{1, 1, 2, 1, 0, 5});
    }
  });
  const Tensor whole = Tensor::from<std::int64_t>({1, 2, 3}, {3});
  CHECK(where(mask, whole, -1).to_vector<std::int64_t>() == std::vector<std::int64_t>{-1, 2, 3, -1, 2, 3});
  const Tensor across = where(transpose(mask, 0, 1), reshape(whole, {3, 1}), -1);
  CHECK(across.to_vector<std::int64_t>() == std::vector<std::int64_t>{-1, -1, 2, 2, 3, 3});
  // A mask with one element, or with one row.
  const Tensor row = Tensor::from<float>({1, 2, 3, 4, 5, 6, 7}, {7}), one = Tensor::full({1}, 1, DType::i8);
  CHECK(same_bits(where(one, row, scale(row, 2)), row));
  CHECK(same_bits(where(Tensor::zeros({}, DType::i8), scale(row, 2), row), row));
}

TEST_CASE("comparison and where: errors") {
  const Tensor x = Tensor::zeros({2, 3}), d = Tensor::zeros({2, 3}, DType::f64), z = Tensor::zeros({2, 3}, DType::c64);
  const Tensor whole = Tensor::zeros({2}, DType::i64), mask = Tensor::zeros({2, 3}, DType::i8);
  CHECK_THROWS_WITH_AS(less(x, Tensor::zeros({4})), "[less] shapes (2, 3) and (4,) don't broadcast", Error);
  CHECK_THROWS_WITH_AS(greater_equal(z, z),
                       "[greater_equal] expected bf16, f32, f64 or i64 operands, got a c64 tensor of shape (2, 3)",
                       Error);
  CHECK_THROWS_WITH_AS(equal(whole, 0.5),
                       "[equal] expected a whole number to compare with an i64 tensor of shape (2,), got 0.500000",
                       Error);
  CHECK_THROWS_WITH_AS(where(x, x, x), "[where] expected a mask of dtype i8, got an f32 tensor of shape (2, 3)", Error);
  CHECK_THROWS_AS(maximum(x, d), Error);
  CHECK_THROWS_AS(minimum(whole, whole), Error);
  CHECK_THROWS_AS(maximum(z, z), Error);
  CHECK_THROWS_AS(where(mask, x, d), Error);
  CHECK_THROWS_AS(where(mask, mask, mask), Error);
  CHECK_THROWS_AS(where(mask, x, Tensor::zeros({4})), Error);
  CHECK_THROWS_AS(where(Tensor::zeros({4}, DType::i8), x, x), Error);
  CHECK_THROWS_AS(where(mask, Tensor(), 0), Error);
  CHECK_THROWS_AS(where(mask, 0, Tensor()), Error);
  CHECK_THROWS_AS(less(Tensor(), 1), Error);
  CHECK_THROWS_AS(not_equal(Tensor(), x), Error);
}

}  // namespace weft::test
