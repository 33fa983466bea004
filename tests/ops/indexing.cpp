// Tests of index_select, gather, scatter_add, min, argmax, argmin, topk.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "op_table.h"

namespace weft::test {
namespace {

using I = std::int64_t;
using Ins = const std::vector<Tensor>&;

double at(const std::vector<double>& x, I i, I j, I columns) { return x[static_cast<std::size_t>(i * columns + j)]; }

// Sorts the rows of x (7, 5) and returns the first k elements of each row.
Tensor sorted(const Tensor& x, I k, bool largest) {
  std::vector<double> all = x.to_vector<double>(), values;
  for (I i = 0; i < x.size(0); ++i) {
    const auto row = all.begin() + i * x.size(1);
    if (largest) std::sort(row, row + x.size(1), std::greater<>());
    else std::sort(row, row + x.size(1));
    values.insert(values.end(), row, row + k);
  }
  return Tensor::from(values, {x.size(0), k});
}

const In table{{7, 5}, -3, 3};

const OpCases indexing_cases{
    {"index_select 0",
     {table, indices({9}, 7)},
     [](Ins in) { return index_select(in[0], 0, in[1]); },
     [](Ins in) {
       std::vector<double> y;
       for (const I r : in[1].to_vector<I>())
         for (I j = 0; j < 5; ++j) y.push_back(at(in[0].to_vector<double>(), r, j, 5));
       return Tensor::from(y, {9, 5});
     }},
    {"index_select -1",
     {{{2, 3, 4}}, indices({6}, 4)},
     [](Ins in) { return index_select(in[0], -1, in[1]); },
     [](Ins in) {
       std::vector<Tensor> parts;
       for (const I k : in[1].to_vector<I>()) parts.push_back(slice(in[0], 2, k, k + 1));
       return concat(parts, 2);
     }},
    {"index_select of nothing", {{{3, 0}}, indices({2}, 3)}, [](Ins in) { return index_select(in[0], 0, in[1]); }},
    {"index_select by nothing", {table, indices({0}, 7)}, [](Ins in) { return index_select(in[0], 0, in[1]); }},
    {"gather 1",
     {table, indices({6, 8}, 5)},
     [](Ins in) { return gather(in[0], 1, in[1]); },
     [](Ins in) {
       std::vector<double> y;
       const auto index = in[1].to_vector<I>();
       for (I i = 0; i < 6; ++i)
         for (I j = 0; j < 8; ++j)
           y.push_back(at(in[0].to_vector<double>(), i, index[static_cast<std::size_t>(i * 8 + j)], 5));
       return Tensor::from(y, {6, 8});
     }},
    {"gather 0",
     {table, indices({3, 5}, 7)},
     [](Ins in) { return gather(in[0], 0, in[1]); },
     [](Ins in) { return transpose(gather(transpose(in[0], 0, 1), 1, transpose(in[1], 0, 1)), 0, 1); }},
    {"gather 1 of three axes",
     {{{3, 5, 4}}, indices({2, 6, 3}, 5)},
     [](Ins in) { return gather(in[0], 1, in[1]); },
     [](Ins in) {
       std::vector<double> y;
       const auto x = in[0].to_vector<double>();
       const auto index = in[1].to_vector<I>();
       for (I i = 0; i < 2; ++i)
         for (I j = 0; j < 6; ++j)
           for (I k = 0; k < 3; ++k)
             y.push_back(
                 x[static_cast<std::size_t>((i * 5 + index[static_cast<std::size_t>((i * 6 + j) * 3 + k)]) * 4 + k)]);
       return Tensor::from(y, {2, 6, 3});
     }},
    {"scatter_add 1",
     {table, indices({6, 8}, 5), {{6, 8}}},
     [](Ins in) { return scatter_add(in[0], 1, in[1], in[2]); },
     [](Ins in) {
       std::vector<double> y = in[0].to_vector<double>(), source = in[2].to_vector<double>();
       const auto index = in[1].to_vector<I>();
       for (I i = 0; i < 6; ++i)
         for (I j = 0; j < 8; ++j)
           y[static_cast<std::size_t>(i * 5 + index[static_cast<std::size_t>(i * 8 + j)])] +=
               source[static_cast<std::size_t>(i * 8 + j)];
       return Tensor::from(y, {7, 5});
     }},
    {"min",
     {table},
     [](Ins in) { return min(in[0], 1); },
     [](Ins in) { return reshape(sorted(in[0], 1, false), {7}); }},
    {"min keepdim",
     {table},
     [](Ins in) { return min(in[0], 0, true); },
     [](Ins in) { return transpose(sorted(transpose(in[0], 0, 1), 1, false), 0, 1); }},
    {"topk", {table}, [](Ins in) { return topk(in[0], 3).values; }, [](Ins in) { return sorted(in[0], 3, true); }},
    {"topk smallest of columns",
     {table},
     [](Ins in) { return topk(in[0], 7, 0, false).values; },
     [](Ins in) { return transpose(sorted(transpose(in[0], 0, 1), 7, false), 0, 1); }},
    {"topk 0", {table}, [](Ins in) { return topk(in[0], 0).values; }},
};

}  // namespace

TEST_CASE("argmax, argmin, topk: the first of several equal elements, and NaN before all others") {
  const float nan = std::nanf(""), inf = std::numeric_limits<float>::infinity();
  const Tensor x = Tensor::from<float>({2, 5, 5, 1, 1, -inf, nan, inf, nan, 0}, {2, 5});
  for (const DType dtype : {DType::f32, DType::f64, DType::bf16}) {
    const Tensor y = raw::convert(x, dtype);
    CHECK(argmax(y, 1).to_vector<I>() == std::vector<I>{1, 1});
    CHECK(argmin(y, -1, true).to_vector<I>() == std::vector<I>{3, 1});
    CHECK(argmin(y, 1, true).shape() == Shape{2, 1});
    CHECK(topk(y, 4).indices.to_vector<I>() == std::vector<I>{1, 2, 0, 3, 1, 3, 2, 4});
    CHECK(topk(y, 2, 1, false).indices.to_vector<I>() == std::vector<I>{3, 4, 0, 4});
    CHECK(topk(y, 5, 1, false).indices.to_vector<I>() == std::vector<I>{3, 4, 0, 1, 2, 0, 4, 2, 1, 3});
    CHECK(topk(y, 2, 1, false).values.dtype() == dtype);
  }
  CHECK(topk(Tensor::from<float>({1, -nan, inf, nan}, {4}), 4).indices.to_vector<I>() == std::vector<I>{1, 3, 2, 0});
  CHECK(argmax(x, 0).to_vector<I>() == std::vector<I>{0, 1, 1, 1, 0});
  CHECK(std::isnan(min(x, 1).to_vector<float>()[1]));
  CHECK(argmax(Tensor::zeros({0, 3}), 1).shape() == Shape{0});
}

TEST_CASE("index_select, gather: integers and complex numbers") {
  const Tensor i = Tensor::from<I>({1, 2, 3, (I{1} << 53) + 1, 5, 6}, {2, 3}), columns = Tensor::from<I>({2, 0}, {2});
  CHECK(index_select(i, 1, columns).to_vector<I>() == std::vector<I>{3, 1, 6, (I{1} << 53) + 1});
  CHECK(index_select(transpose(i, 0, 1), 0, columns).to_vector<I>() == std::vector<I>{3, 6, 1, (I{1} << 53) + 1});
  CHECK(gather(i, 1, Tensor::from<I>({1, 0}, {2, 1})).to_vector<I>() == std::vector<I>{2, (I{1} << 53) + 1});
  const Tensor bytes = Tensor::from(std::vector<std::int8_t>{1, -2, 3, 4}, {4});
  CHECK(index_select(bytes, 0, columns).to_vector<std::int8_t>() == std::vector<std::int8_t>{3, 1});
  CHECK(index_select(Tensor::zeros({3, 0}, DType::i64), 0, columns).shape() == Shape{2, 0});
  const Tensor a = random_tensor({{3, 2}}, 1), b = random_tensor({{3, 2}}, 2);
  const Tensor chosen = index_select(complex(a, b), 0, columns);
  CHECK(same_bits(real(chosen), index_select(a, 0, columns)));
  CHECK(same_bits(imag(chosen), index_select(b, 0, columns)));
  const Tensor at = Tensor::from<I>({1, 0, 1}, {3, 1}), gathered = gather(complex(a, b), 1, at);
  CHECK(same_bits(real(gathered), gather(a, 1, at)));
  CHECK(same_bits(imag(gathered), gather(b, 1, at)));
  const Function f = [&](const std::vector<Tensor>& in) {
    const Tensor z = gather(complex(in[0], in[1]), 1, Tensor::from<I>({1, 0, 1}, {3, 1}));
    return mul(real(z), square(imag(z)));
  };
  CHECK(gradient_error(f, {a, b}, {true, true}) <= 1e-7);
}

TEST_CASE("gather: more elements than a task has") {
  const Tensor x = random_tensor({{250, 300}}, 1);
  std::vector<I> rows(200 * 290);
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<I>(i * 7919 % 250);
  const std::vector<double> from = x.to_vector<double>();
  const std::vector<double> got = gather(x, 0, Tensor::from(rows, {200, 290})).to_vector<double>();
  for (std::size_t i = 0; i < rows.size(); ++i)
    REQUIRE(got[i] == from[static_cast<std::size_t>(rows[i]) * 300 + i % 290]);
}

TEST_CASE("gather and scatter_add along each axis: more elements than a task has, fewer indices than the tensor has") {
  const Shape shape{30, 40, 50};
  for (const Shape& chosen :
       {Shape{30, 40, 50}, Shape{29, 40, 50}, Shape{30, 40, 2}, Shape{30, 1, 1}, Shape{7, 35, 41}})
    for (std::size_t d = 0; d < 3; ++d) {
      Shape sizes = chosen;
      sizes[d] = 57;
      std::vector<I> index(static_cast<std::size_t>(numel(sizes))), place(index.size());
      for (std::size_t i = 0; i < index.size(); ++i) index[i] = static_cast<I>(i * 7919 % 29) * (shape[d] - 1) / 28;
      for (std::size_t i = 0; i < place.size(); ++i) {
        I rest = static_cast<I>(i), at[3];
        for (std::size_t axis = 3; axis-- > 0; rest /= sizes[axis]) at[axis] = rest % sizes[axis];
        at[d] = index[i];
        place[i] = (at[0] * shape[1] + at[1]) * shape[2] + at[2];
      }
      const Tensor x = random_tensor({shape}, 1), source = random_tensor({sizes}, 2), at = Tensor::from(index, sizes);
      const std::vector<double> from = x.to_vector<double>(), terms = source.to_vector<double>();
      const auto axis = static_cast<I>(d);
      CAPTURE(axis);
      CAPTURE(to_string(sizes));
      std::vector<double> gathered(place.size()), sums = from;
      for (std::size_t i = 0; i < place.size(); ++i) {
        gathered[i] = from[static_cast<std::size_t>(place[i])];
        sums[static_cast<std::size_t>(place[i])] += terms[i];
      }
      CHECK(gather(x, axis, at).to_vector<double>() == gathered);
      CHECK(scatter_add(x, axis, at, source).to_vector<double>() == sums);
      CHECK(x.to_vector<double>() == from);
    }
}

TEST_CASE("gather and scatter_add: indices that change before the backward pass are refused") {
  for (const bool gathers : {true, false}) {
    Tensor at = Tensor::from<I>({1, 0, 1}, {3});
    Tape tape;
    const Tensor x = tape.watch(Tensor::zeros({2}, DType::f64)), source = tape.watch(Tensor::zeros({3}, DType::f64));
    const Tensor y = sum(gathers ? gather(x, 0, at) : scatter_add(x, 0, at, source));
    raw::fill(at, 0);
    Gradients gradients;
    CHECK_THROWS_WITH_AS(tape.backward(y, gradients), doctest::Contains(gathers ? "gather" : "scatter_add"), Error);
  }
}

TEST_CASE("gather: tensors that are not contiguous") {
  const Tensor x = random_tensor({{6, 5, 4}}, 1), turned = permute(x, {2, 0, 1}), part = slice(x, 1, 1, 4);
  for (I d = 0; d < 3; ++d) {
    std::vector<I> index(3 * 2 * 3);
    for (std::size_t i = 0; i < index.size(); ++i) index[i] = static_cast<I>(i * 5 % 3);
    const Tensor at = Tensor::from(index, {3, 2, 3}), at_turned = permute(at, {1, 2, 0});
    for (const Tensor& from : {turned, part}) {
      CHECK(same_bits(gather(from, d, at), gather(raw::contiguous(from), d, at)));
      CHECK(same_bits(gather(from, d, at_turned), gather(raw::contiguous(from), d, raw::contiguous(at_turned))));
    }
  }
}

TEST_CASE("topk: few, half and all elements of long rows, many of them equal") {
  const I n = 700;
  std::vector<double> values(static_cast<std::size_t>(3 * n));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(i * 7919 % 311) / 8 - 19;
  for (std::size_t i = 0; i < values.size(); i += 5) values[i] = i % 2 == 0 ? 0.0 : -0.0;
  const Tensor x = Tensor::from(values, {3, n});
  for (const DType dtype : {DType::f32, DType::f64, DType::bf16})
    for (const bool largest : {true, false})
      for (const I k : {I{1}, I{43}, I{44}, I{350}, n}) {
        const Tensor converted = raw::convert(x, dtype);
        const std::vector<double> all = raw::convert(converted, DType::f64).to_vector<double>();
        std::vector<I> want;
        for (I r = 0; r < 3; ++r) {
          std::vector<I> order(static_cast<std::size_t>(n));
          std::iota(order.begin(), order.end(), 0);
          const auto value = [&](I i) { return all[static_cast<std::size_t>(r * n + i)] * (largest ? -1 : 1); };
          std::stable_sort(order.begin(), order.end(), [&](I i, I j) { return value(i) < value(j); });
          want.insert(want.end(), order.begin(), order.begin() + k);
        }
        CHECK(topk(converted, k, -1, largest).indices.to_vector<I>() == want);
      }
}

TEST_CASE("scatter_add: bf16 sums are rounded once") {
  const Tensor ones = Tensor::full({300}, 1, DType::bf16), where_to = Tensor::zeros({300}, DType::i64);
  CHECK(scatter_add(Tensor::zeros({1}, DType::bf16), 0, where_to, ones).item() == 300);
}

TEST_CASE("elements by indices: errors") {
  const Tensor x = Tensor::zeros({2, 3}), one = Tensor::zeros({1}, DType::i64), far = Tensor::full({1}, 3, DType::i64);
  CHECK_THROWS_WITH_AS(index_select(x, 1, far), "[index_select] expected indices from 0 to 2, got 3", Error);
  CHECK_THROWS_AS(index_select(x, 2, one), Error);
  CHECK_THROWS_AS(index_select(x, 0, Tensor::zeros({1})), Error);
  CHECK_THROWS_AS(index_select(x, 0, Tensor::zeros({1, 1}, DType::i64)), Error);
  CHECK_THROWS_AS(index_select(Tensor(), 0, one), Error);
  CHECK_THROWS_AS(gather(Tensor(), 0, one), Error);
  CHECK_THROWS_AS(scatter_add(one, 0, one, one), Error);
  CHECK_THROWS_WITH_AS(gather(x, 1, Tensor::full({1, 1}, -1, DType::i64)),
                       "[gather] expected indices from 0 to 2, got -1", Error);
  CHECK_THROWS_WITH_AS(gather(x, 1, Tensor::zeros({3, 1}, DType::i64)), doctest::Contains("not longer than it"), Error);
  CHECK_THROWS_AS(gather(x, 1, one), Error);
  CHECK_THROWS_WITH_AS(scatter_add(x, 1, Tensor::full({2, 3}, 3, DType::i64), x),
                       "[scatter_add] expected indices from 0 to 2, got 3", Error);
  CHECK_THROWS_WITH_AS(scatter_add(x, 1, Tensor::zeros({1, 1}, DType::i64), x),
                       doctest::Contains("a source of the indices' shape (1, 1)"), Error);
  CHECK_THROWS_AS(scatter_add(x, 1, Tensor::zeros({2, 3}, DType::i64), Tensor::zeros({2, 3}, DType::f64)), Error);
  CHECK_THROWS_WITH_AS((void)topk(x, 4), "[topk] expected 0 to 3 elements of axis -1 of shape (2, 3), got 4", Error);
  CHECK_THROWS_AS((void)topk(x, -1), Error);
  CHECK_THROWS_WITH_AS(argmin(Tensor::zeros({2, 0}), 1), doctest::Contains("there is no element along axis 1"), Error);
  CHECK_THROWS_AS(argmax(one, 0), Error);
  CHECK_THROWS_WITH_AS(min(Tensor::zeros({2, 0}), 1), "[min] there is no element along axis 1 of shape (2, 0)", Error);
  CHECK_THROWS_AS(argmax(Tensor(), 0), Error);
}

}  // namespace weft::test
