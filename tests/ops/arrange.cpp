// Tests of squeeze, unsqueeze, stack, split, roll, pad, tril, triu, arange, one_hot.
#include <doctest/doctest.h>

#include <vector>

#include "op_table.h"

namespace weft::test {
namespace {

using Ins = const std::vector<Tensor>&;

// Returns a tensor whose element at (i, j) is f(i, j).
template <class F>
Tensor matrix(std::int64_t rows, std::int64_t columns, F f) {
  std::vector<double> values;
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t j = 0; j < columns; ++j) values.push_back(f(i, j));
  return Tensor::from(values, {rows, columns});
}

double at(const Tensor& x, std::int64_t i, std::int64_t j) { return slice(slice(x, 0, i, i + 1), 1, j, j + 1).item(); }

const In small_in{{3, 5}};

const OpCases arrange_cases{
    {"squeeze",
     {{{3, 1, 5}}},
     [](Ins in) { return squeeze(in[0], 1); },
     [](Ins in) {
       return reshape(in[0], {3, 5});
     }},
    {"squeeze -1", {{{3, 1}}}, [](Ins in) { return squeeze(in[0], -1); }, [](Ins in) { return reshape(in[0], {3}); }},
    {"unsqueeze",
     {small_in},
     [](Ins in) { return unsqueeze(in[0], 1); },
     [](Ins in) {
       return reshape(in[0], {3, 1, 5});
     }},
    {"unsqueeze -1",
     {small_in},
     [](Ins in) { return unsqueeze(in[0], -1); },
     [](Ins in) {
       return reshape(in[0], {3, 5, 1});
     }},
    {"stack",
     {small_in, small_in, small_in},
     [](Ins in) { return stack(in, 1); },
     [](Ins in) {
       return concat({reshape(in[0], {3, 1, 5}), reshape(in[1], {3, 1, 5}), reshape(in[2], {3, 1, 5})}, 1);
     }},
    {"stack -1",
     {small_in, small_in},
     [](Ins in) { return stack(in, -1); },
     [](Ins in) {
       return concat({reshape(in[0], {3, 5, 1}), reshape(in[1], {3, 5, 1})}, 2);
     }},
    {"split",
     {small_in},
     [](Ins in) {
       const std::vector<Tensor> parts = split(in[0], {1, 0, 4}, 1);
       return concat({parts[2], parts[1], parts[0]}, 1);
     },
     [](Ins in) { return matrix(3, 5, [&](auto i, auto j) { return at(in[0], i, (j + 1) % 5); }); }},
    {"roll 2",
     {small_in},
     [](Ins in) { return roll(in[0], 2, 1); },
     [](Ins in) { return matrix(3, 5, [&](auto i, auto j) { return at(in[0], i, (j + 3) % 5); }); }},
    {"roll -7",
     {small_in},
     [](Ins in) { return roll(in[0], -7, 0); },
     [](Ins in) { return matrix(3, 5, [&](auto i, auto j) { return at(in[0], (i + 7) % 3, j); }); }},
    {"roll 0", {small_in}, [](Ins in) { return roll(in[0], 10, 1); }, [](Ins in) { return in[0]; }},
    {"pad",
     {small_in},
     [](Ins in) {
       return pad(in[0], {{1, 2}, {0, 3}}, 0.5);
     },
     [](Ins in) {
       return matrix(6, 8, [&](auto i, auto j) { return i >= 1 && i < 4 && j < 5 ? at(in[0], i - 1, j) : 0.5; });
     }},
    {"tril",
     {small_in},
     [](Ins in) { return tril(in[0]); },
     [](Ins in) { return matrix(3, 5, [&](auto i, auto j) { return j <= i ? at(in[0], i, j) : 0; }); }},
    {"tril 1",
     {{{5, 3}}},
     [](Ins in) { return tril(in[0], 1); },
     [](Ins in) { return matrix(5, 3, [&](auto i, auto j) { return j <= i + 1 ? at(in[0], i, j) : 0; }); }},
    {"triu -1",
     {small_in},
     [](Ins in) { return triu(in[0], -1); },
     [](Ins in) { return matrix(3, 5, [&](auto i, auto j) { return j >= i - 1 ? at(in[0], i, j) : 0; }); }},
    {"triu of several",
     {{{2, 3, 4}}},
     [](Ins in) { return triu(in[0]); },
     [](Ins in) {
       return stack({triu(squeeze(slice(in[0], 0, 0, 1), 0)), triu(squeeze(slice(in[0], 0, 1, 2), 0))});
     }},
    {"roll of nothing", {{{0, 3}}}, [](Ins in) { return roll(in[0], 1, 0); }},
};

using I = std::int64_t;

}  // namespace

TEST_CASE("arange: whole and other numbers, ascending and descending") {
  CHECK(arange(0, 5).to_vector<I>() == std::vector<I>{0, 1, 2, 3, 4});
  CHECK(arange(3, -4, -3).to_vector<I>() == std::vector<I>{3, 0, -3});
  CHECK(arange(2, 2).numel() == 0);
  CHECK(arange(2, 1).numel() == 0);
  CHECK(arange(0, 1, 0.25, DType::f64).to_vector<double>() == std::vector<double>{0, 0.25, 0.5, 0.75});
  CHECK(arange(1, 2.1, 0.5, DType::f32).to_vector<float>() == std::vector<float>{1, 1.5, 2});
  CHECK_THROWS_WITH_AS(arange(0, 1, 0), doctest::Contains("a step that is not 0"), Error);
  CHECK_THROWS_WITH_AS(arange(0, 1, 0.5), doctest::Contains("whole numbers up to 2^53 for dtype i64"), Error);
  CHECK_THROWS_AS(arange(0, INFINITY), Error);
  CHECK_THROWS_WITH_AS(arange(0, 1e30), doctest::Contains("at most 2^40"), Error);
  CHECK_THROWS_AS(arange(0, 3, 1, DType::c64), Error);
  CHECK_THROWS_AS(arange(1e19, 1e19 + 4096, 2048), Error);
}

TEST_CASE("one_hot: a row for each index") {
  const Tensor y = one_hot(Tensor::from<I>({2, 0}, {2, 1}), 3);
  CHECK(y.shape() == Shape{2, 1, 3});
  CHECK(y.to_vector<float>() == std::vector<float>{0, 0, 1, 1, 0, 0});
  CHECK(one_hot(Tensor::from<I>({1}, {1}), 2, DType::bf16).dtype() == DType::bf16);
  CHECK(one_hot(Tensor::zeros({0}, DType::i64), 0).shape() == Shape{0, 0});
  CHECK_THROWS_WITH_AS(one_hot(Tensor::from<I>({3}, {1}), 3), "[one_hot] expected indices from 0 to 2, got 3", Error);
  CHECK_THROWS_AS(one_hot(Tensor::from<I>({-1}, {1}), 3), Error);
  CHECK_THROWS_AS(one_hot(Tensor::zeros({1}), 3), Error);
  CHECK_THROWS_AS(one_hot(Tensor::zeros({1}, DType::i64), -1), Error);
}

TEST_CASE("arrangements of integers and complex numbers") {
  const Tensor x = Tensor::from<I>({1, 2, 3, 4, 5, 6}, {2, 3});
  CHECK(roll(x, 1, 1).to_vector<I>() == std::vector<I>{3, 1, 2, 6, 4, 5});
  CHECK(pad(x, {{0, 0}, {1, 0}}, 9).to_vector<I>() == std::vector<I>{9, 1, 2, 3, 9, 4, 5, 6});
  CHECK(tril(x).to_vector<I>() == std::vector<I>{1, 0, 0, 4, 5, 0});
  CHECK(stack({x, x}).shape() == Shape{2, 2, 3});
  const Tensor small_in = Tensor::from<std::int8_t>({1, 0, 1}, {3});
  CHECK(roll(small_in, 1, 0).to_vector<std::int8_t>() == std::vector<std::int8_t>{1, 1, 0});
  const Tensor z = complex(Tensor::from<double>({1, 2, 3, 4}, {2, 2}), Tensor::from<double>({5, 6, 7, 8}, {2, 2}));
  CHECK(real(roll(z, 1, 1)).to_vector<double>() == std::vector<double>{2, 1, 4, 3});
  CHECK(imag(triu(z)).to_vector<double>() == std::vector<double>{5, 6, 0, 8});
  CHECK(imag(pad(z, {{0, 0}, {0, 1}})).to_vector<double>() == std::vector<double>{5, 6, 0, 7, 8, 0});
  const Tensor nan = Tensor::full({2, 2}, std::nan(""));
  CHECK(triu(nan).to_vector<float>()[2] == 0);  // elements outside of the triangle become 0, even if they are NaN
}

TEST_CASE("cast: integers and masks become numbers") {
  const Tensor mask = less(Tensor::from<float>({1, 5, 2}, {3}), 3);
  CHECK(cast(mask, DType::f32).to_vector<float>() == std::vector<float>{1, 0, 1});
  CHECK(cast(mask, DType::i64).to_vector<I>() == std::vector<I>{1, 0, 1});
  CHECK(cast(Tensor::from<I>({3, -2}, {2}), DType::f64).to_vector<double>() == std::vector<double>{3, -2});
  CHECK_THROWS_AS(cast(Tensor::zeros({1}), DType::i64), Error);
  CHECK_THROWS_AS(cast(mask, DType::c64), Error);
  CHECK_THROWS_AS(cast(Tensor(), DType::f32), Error);
}

TEST_CASE("arrangements: errors") {
  const Tensor x = Tensor::zeros({2, 3});
  CHECK_THROWS_WITH_AS(squeeze(x, 0), "[squeeze] expected size 1 for axis 0 of shape (2, 3)", Error);
  CHECK_THROWS_AS(unsqueeze(x, 3), Error);
  CHECK_THROWS_WITH_AS(stack({x, Tensor::zeros({3, 2})}, 0),
                       "[stack] expected tensors of one shape, got (2, 3) and (3, 2)", Error);
  CHECK_THROWS_AS(stack({}, 0), Error);
  CHECK_THROWS_WITH_AS(stack({x, x}, 3), doctest::Contains("[stack]"), Error);
  CHECK_THROWS_AS(stack({x, Tensor::zeros({2, 3}, DType::f64)}, 0), Error);
  CHECK_THROWS_WITH_AS((void)split(x, {1, 1}, 1),
                       "[split] expected sizes that add up to 3, the size of axis 1 of shape (2, 3), got (1, 1)",
                       Error);
  CHECK_THROWS_AS((void)split(x, {4, -1}, 1), Error);
  CHECK_THROWS_AS(roll(x, 1, 2), Error);
  CHECK_THROWS_WITH_AS(pad(x, {{1, 1}}), doctest::Contains("a pair of widths for each axis of shape (2, 3), got 1"),
                       Error);
  CHECK_THROWS_AS(pad(x, {{-1, 0}, {0, 0}}), Error);
  CHECK_THROWS_WITH_AS(tril(Tensor::zeros({3})), doctest::Contains("expected matrices"), Error);
  for (const auto& f :
       {+[](const Tensor& t) { return squeeze(t, 0); }, +[](const Tensor& t) { return unsqueeze(t, 0); },
        +[](const Tensor& t) { return roll(t, 1, 0); }, +[](const Tensor& t) { return pad(t, {}); },
        +[](const Tensor& t) { return triu(t); }})
    CHECK_THROWS_AS(f(Tensor()), Error);
}

}  // namespace weft::test
