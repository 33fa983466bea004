#include <doctest/doctest.h>

#include <complex>
#include <functional>
#include <limits>

#include "op_table.h"

namespace weft::test {
namespace {

using Ins = const std::vector<Tensor>&;

using Index = std::vector<std::int64_t>;

// Takes the element of x at from(index) for each index of y, in row-major order. T is double or std::complex<double>.
template <class T>
Tensor gathered(const Tensor& x, const Shape& shape, const std::function<Index(Index)>& from) {
  const std::vector<T> v = x.to_vector<T>();
  const Strides strides = contiguous_strides(x.shape());
  std::vector<T> y;
  for (std::int64_t flat = 0; flat < numel(shape); ++flat) {
    Index index(shape.size());
    std::int64_t rest = flat, at = 0;
    for (std::size_t i = shape.size(); i-- > 0; rest /= shape[i]) index[i] = rest % shape[i];
    const Index place = from(index);
    for (std::size_t i = 0; i < strides.size(); ++i) at += place[i] * strides[i];
    y.push_back(v[static_cast<std::size_t>(at)]);
  }
  return Tensor::from(y, shape);
}

template <class T = double>
Function gather(const Shape& shape, const std::function<Index(Index)>& from) {
  return [=](Ins in) { return gathered<T>(in[0], shape, from); };
}

// The same elements in the same order.
template <class T = double>
Function same_elements(const Shape& shape) {
  return [=](Ins in) { return Tensor::from(in[0].to_vector<T>(), shape); };
}

using Complex = std::complex<double>;

const OpCases shape_cases{
    {"reshape",
     {{{4, 6}}},
     [](Ins in) {
       return reshape(in[0], {2, 2, -1, 3});
     },
     same_elements({2, 2, 2, 3})},
    {"reshape nothing",
     {{{0, 6}}},
     [](Ins in) {
       return reshape(in[0], {3, 0});
     },
     same_elements({3, 0})},
    {"reshape to scalar", {{{1, 1}}}, [](Ins in) { return reshape(in[0], {}); }, same_elements({})},
    {"permute",
     {{{2, 3, 4}}},
     [](Ins in) {
       return permute(in[0], {2, 0, 1});
     },
     gather({4, 2, 3},
            [](Index i) {
              return Index{i[1], i[2], i[0]};
            })},
    {"permute, negative dims",
     {{{2, 3, 4}}},
     [](Ins in) {
       return permute(in[0], {-1, 0, -2});
     },
     gather({4, 2, 3},
            [](Index i) {
              return Index{i[1], i[2], i[0]};
            })},
    {"transpose",
     {{{2, 3, 4}}},
     [](Ins in) { return transpose(in[0], 0, -1); },
     gather({4, 3, 2},
            [](Index i) {
              return Index{i[2], i[1], i[0]};
            })},
    {"transpose then reshape",
     {{{3, 4, 2}}},
     [](Ins in) {
       return reshape(transpose(in[0], 0, 1), {12, 2});
     },
     gather({12, 2},
            [](Index i) {
              return Index{i[0] % 3, i[0] / 3, i[1]};
            })},
    {"slice",
     {{{5, 7}}},
     [](Ins in) { return slice(in[0], 1, 1, 6, 2); },
     gather({5, 3},
            [](Index i) {
              return Index{i[0], 1 + 2 * i[1]};
            })},
    {"slice, a step over the end",
     {{{5, 7}}},
     [](Ins in) { return slice(in[0], -2, 0, 5, 4); },
     gather({2, 7},
            [](Index i) {
              return Index{4 * i[0], i[1]};
            })},
    {"slice, a step beyond all sizes",
     {{{5, 7}}},
     [](Ins in) { return slice(in[0], 0, 1, 5, std::numeric_limits<std::int64_t>::max()); },
     [](Ins in) { return slice(in[0], 0, 1, 2); }},
    {"slices in steps", {{{9}}}, [](Ins in) { return mul(slice(in[0], 0, 1, 9, 2), slice(in[0], 0, 0, 8, 2)); }},
    {"slice of a slice",
     {{{9}}},
     [](Ins in) { return slice(slice(in[0], 0, 1, 9, 2), 0, 1, 4); },
     gather({3}, [](Index i) { return Index{3 + 2 * i[0]}; })},
    {"slice nothing", {{{5, 7}}}, [](Ins in) { return slice(in[0], 0, 2, 2); }, gather({0, 7}, nullptr)},
    {"chunk",
     {{{4, 6}}},
     [](Ins in) {
       const auto c = chunk(in[0], 2, -1);
       return mul(c[0], c[1]);
     },
     [](Ins in) {
       return mul(gathered<double>(in[0], {4, 3}, [](Index i) { return i; }),
                  gathered<double>(in[0], {4, 3}, [](Index i) {
                    return Index{i[0], i[1] + 3};
                  }));
     }},
    {"concat",
     {{{2, 3}}, {{2, 1}}, {{2, 0}}},
     [](Ins in) {
       return concat({in[0], in[1], in[2]}, 1);
     },
     [](Ins in) {
       const auto a = in[0].to_vector<double>(), b = in[1].to_vector<double>();
       return Tensor::from(std::vector<double>{a[0], a[1], a[2], b[0], a[3], a[4], a[5], b[1]}, {2, 4});
     }},
    {"concat of one tensor twice",
     {{{2, 3}}},
     [](Ins in) {
       return concat({in[0], in[0]}, 0);
     },
     gather({4, 3},
            [](Index i) {
              return Index{i[0] % 2, i[1]};
            })},
    {"expand",
     {{{3, 1}}},
     [](Ins in) {
       return expand(in[0], {2, 3, 4});
     },
     gather({2, 3, 4},
            [](Index i) {
              return Index{i[1], 0};
            })},
    {"expand a scalar",
     {{{}}},
     [](Ins in) {
       return expand(in[0], {2, 3});
     },
     gather({2, 3}, [](Index) { return Index{}; })},
    {"expand to nothing",
     {{{3, 1}}},
     [](Ins in) {
       return expand(in[0], {3, 0});
     },
     gather({3, 0}, nullptr)},
    {"flip",
     {{{3, 4}}},
     [](Ins in) { return flip(in[0], 1); },
     gather({3, 4},
            [](Index i) {
              return Index{i[0], 3 - i[1]};
            })},
    {"flip of a flip",
     {{{3, 4}}},
     [](Ins in) { return flip(flip(in[0], 0), -1); },
     gather({3, 4},
            [](Index i) {
              return Index{2 - i[0], 3 - i[1]};
            })},
    {"flip nothing", {{{3, 0}}}, [](Ins in) { return flip(in[0], 1); }, gather({3, 0}, nullptr)},
    {"slices overlap",
     {{{6}}},
     [](Ins in) { return mul(slice(in[0], 0, 0, 4), slice(in[0], 0, 2, 6)); },
     [](Ins in) {
       const auto v = in[0].to_vector<double>();
       return Tensor::from(std::vector<double>{v[0] * v[2], v[1] * v[3], v[2] * v[4], v[3] * v[5]}, {4});
     }},
    {"a slice and the whole",
     {{{4, 3}}},
     [](Ins in) { return add(in[0], slice(in[0], 0, 1, 2)); },
     [](Ins in) {
       return add(in[0], gathered<double>(in[0], {1, 3}, [](Index i) { return Index{1, i[1]}; }));
     }},
    {"complex slice",
     {complex_in({4, 3})},
     [](Ins in) { return slice(in[0], 0, 1, 3); },
     gather<Complex>({2, 3},
                     [](Index i) {
                       return Index{i[0] + 1, i[1]};
                     })},
    {"complex reshape",
     {complex_in({4, 3})},
     [](Ins in) {
       return reshape(in[0], {3, 4});
     },
     same_elements<Complex>({3, 4})},
    {"complex transpose",
     {complex_in({4, 3})},
     [](Ins in) { return transpose(in[0], 0, 1); },
     gather<Complex>({3, 4},
                     [](Index i) {
                       return Index{i[1], i[0]};
                     })},
};

}  // namespace

TEST_CASE("reshape is a view if the strides allow it") {
  const Tensor x = random_tensor({{4, 6}}, 1);
  CHECK(reshape(x, {2, 12}).storage() == x.storage());
  CHECK(reshape(transpose(x, 0, 1), {6, 2, 2}).storage() == x.storage());
  const Tensor copied = reshape(transpose(x, 0, 1), {24});
  CHECK(copied.storage() != x.storage());
  CHECK(same_bits(copied, reshape(raw::contiguous(transpose(x, 0, 1)), {24})));
}

TEST_CASE("every reshape of a strided tensor keeps the order of the elements") {
  const Tensor x = random_tensor({{2, 3, 4, 1, 5}}, 1);
  const std::vector<Index> orders = {
      {0, 1, 2, 3, 4}, {4, 3, 2, 1, 0}, {1, 0, 2, 3, 4}, {0, 1, 4, 3, 2}, {2, 3, 4, 0, 1}};
  const std::vector<Shape> shapes = {{120},        {6, 20},  {20, 6},     {2, 3, 20}, {4, 5, 1, 6},
                                     {5, 4, 3, 2}, {12, 10}, {1, 120, 1}, {8, 15}};
  for (const Index& dims : orders) {
    const Tensor y = permute(x, dims);
    for (const Shape& shape : shapes) CHECK(reshape(y, shape).to_vector<double>() == y.to_vector<double>());
  }
}

TEST_CASE("views share their storage") {
  const Tensor x = random_tensor({{4, 6}}, 1);
  const Tensor second = chunk(x, 2, 0)[1];
  for (const Tensor& y : {permute(x, {1, 0}), slice(x, 1, 0, 6, 3), expand(x, {2, 4, 6}), flip(x, 0), second})
    CHECK(y.storage() == x.storage());
}

TEST_CASE("cast rounds, and its gradient has the dtype of x") {
  Tape tape;
  const Tensor x = tape.watch(random_tensor({{5}}, 1));
  const Tensor y = cast(x, DType::f32);
  CHECK(same_bits(y, to_single(x)));
  Gradients gradients;
  tape.backward(mul(y, y), to_single(random_tensor({{5}}, 2)), gradients);
  CHECK(gradients.of(x).dtype() == DType::f64);
  CHECK(max_difference(gradients.of(x), scale(mul(x, random_tensor({{5}}, 2)), 2)) <= 1e-6);
  CHECK(same_bits(cast(to_single(x), DType::f64), raw::convert(to_single(x), DType::f64)));
}

TEST_CASE("shape operations: errors") {
  const Tensor x = Tensor::zeros({2, 3});
  CHECK_THROWS_WITH_AS(reshape(x, {4, 2}), "[reshape] a tensor of shape (2, 3) can't be reshaped to (4, 2)", Error);
  CHECK_THROWS_AS(reshape(x, {-1, -1}), Error);
  CHECK_THROWS_AS(reshape(x, {-1, 4}), Error);
  CHECK_THROWS_AS(permute(x, {0, 0}), Error);
  CHECK_THROWS_AS(slice(x, 1, 2, 5), Error);
  CHECK_THROWS_AS(slice(x, 2, 0, 1), Error);
  CHECK_THROWS_AS(slice(x, 0, 0, 2, 0), Error);
  CHECK_THROWS_AS(chunk(x, 2, 1), Error);
  CHECK_THROWS_AS(concat({}, 0), Error);
  CHECK_THROWS_AS(concat({x, Tensor::zeros({3, 3})}, 1), Error);
  CHECK_THROWS_AS(expand(x, {3, 3}), Error);
  CHECK_THROWS_AS(cast(x, DType::i64), Error);
  CHECK_THROWS_AS(reshape(Tensor(), {1}), Error);
}

}  // namespace weft::test
