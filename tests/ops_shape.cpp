#include <doctest/doctest.h>

#include "op_table.h"

namespace weft::test {
namespace {

using Ins = const std::vector<Tensor>&;

const OpCases cases{
    {"reshape", {{{4, 6}}}, [](Ins in) { return reshape(in[0], {2, 2, -1, 3}); }},
    {"reshape nothing", {{{0, 6}}}, [](Ins in) { return reshape(in[0], {3, 0}); }},
    {"reshape to scalar", {{{1, 1}}}, [](Ins in) { return reshape(in[0], {}); }},
    {"permute", {{{2, 3, 4}}}, [](Ins in) { return permute(in[0], {2, 0, 1}); }},
    {"transpose then reshape", {{{3, 4, 2}}}, [](Ins in) { return reshape(transpose(in[0], 0, 1), {12, 2}); }},
    {"slice", {{{5, 7}}}, [](Ins in) { return slice(in[0], 1, 1, 6, 2); }},
    {"slice nothing", {{{5, 7}}}, [](Ins in) { return slice(in[0], 0, 2, 2); }},
    {"chunk", {{{4, 6}}}, [](Ins in) { const auto c = chunk(in[0], 2, -1); return mul(c[0], c[1]); }},
    {"concat", {{{2, 3}}, {{2, 1}}, {{2, 0}}}, [](Ins in) { return concat({in[0], in[1], in[2]}, 1); }},
    {"expand", {{{3, 1}}}, [](Ins in) { return expand(in[0], {2, 3, 4}); }},
    {"flip", {{{3, 4}}}, [](Ins in) { return flip(in[0], 1); }},
    {"flip nothing", {{{3, 0}}}, [](Ins in) { return flip(in[0], 1); }},
    {"slices overlap", {{{6}}}, [](Ins in) { return mul(slice(in[0], 0, 0, 4), slice(in[0], 0, 2, 6)); }},
    {"complex slice", {complex_in({4, 3})}, [](Ins in) { return slice(in[0], 0, 1, 3); }},
    {"complex reshape", {complex_in({4, 3})}, [](Ins in) { return reshape(in[0], {3, 4}); }},
};

}  // namespace

TEST_CASE("reshape is a view where strides allow") {
  const Tensor x = random_tensor({{4, 6}}, 1);
  CHECK(reshape(x, {2, 12}).storage() == x.storage());
  CHECK(reshape(transpose(x, 0, 1), {6, 2, 2}).storage() == x.storage());
  const Tensor copied = reshape(transpose(x, 0, 1), {24});
  CHECK(copied.storage() != x.storage());
  CHECK(same_bits(copied, reshape(raw::contiguous(transpose(x, 0, 1)), {24})));
}

TEST_CASE("every reshape of a strided tensor has its elements in order") {
  const Tensor x = random_tensor({{2, 3, 4, 1, 5}}, 1);
  for (const std::vector<std::int64_t>& dims : {std::vector<std::int64_t>{0, 1, 2, 3, 4}, {4, 3, 2, 1, 0}, {1, 0, 2, 3, 4}, {0, 1, 4, 3, 2}, {2, 3, 4, 0, 1}}) {
    const Tensor y = permute(x, dims);
    for (const Shape& shape : {Shape{120}, {6, 20}, {20, 6}, {2, 3, 20}, {4, 5, 1, 6}, {5, 4, 3, 2}, {12, 10}, {1, 120, 1}, {8, 15}})
      CHECK(reshape(y, shape).to_vector<double>() == y.to_vector<double>());
  }
}

TEST_CASE("shape operations: errors") {
  const Tensor x = Tensor::zeros({2, 3});
  CHECK_THROWS_WITH_AS(reshape(x, {4, 2}), "[reshape] a tensor of shape (2, 3) can't be seen as (4, 2)", Error);
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
