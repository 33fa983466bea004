// Tests the meaning of einsum's equations, and which equations it rejects.
#include <doctest/doctest.h>

#include "op_table.h"

namespace weft::test {

TEST_CASE("einsum: an equation has the same meaning as in numpy") {
  const Tensor x = Tensor::zeros({2, 3, 4});
  const auto shape = [](const std::string& equation, const std::vector<Tensor>& in) {
    return einsum(equation, in).shape();
  };
  CHECK(shape("bca", {x}) == Shape{4, 2, 3});
  CHECK(shape("bAc", {x}) == Shape{3, 2, 4});
  CHECK(shape("b...a", {x}) == Shape{3, 4, 2});
  CHECK(shape("...a->a...", {x}) == Shape{4, 2, 3});
  CHECK(shape("...a->a", {x}) == Shape{4});
  CHECK(shape(" ... a , a -> ... ", {x, Tensor::zeros({4})}) == Shape{2, 3});
  CHECK(shape("...,...", {x, Tensor::zeros({4})}) == Shape{2, 3, 4});
  CHECK(shape("", {Tensor::scalar(1)}) == Shape{});
  CHECK(shape(",->", {Tensor::scalar(1), Tensor::scalar(1)}) == Shape{});
  CHECK(shape("i->...i", {Tensor::zeros({3})}) == Shape{3});
  CHECK(shape("i...i", {Tensor::zeros({3, 2, 3})}) == Shape{2});
}

TEST_CASE("einsum: a result without a product is a view") {
  const Tensor x = random_tensor({{3, 4}}, 1);
  CHECK(einsum("ij->ji", {x}).storage() == x.storage());
  CHECK(einsum("ij->j", {x}).storage() != x.storage());
}

TEST_CASE("einsum: errors name the operation and the equation") {
  const auto fails = [](const std::string& equation, const std::vector<Shape>& shapes, const std::string& message) {
    std::vector<Tensor> in;
    for (const Shape& shape : shapes) in.push_back(Tensor::zeros(shape));
    CAPTURE(equation);
    const std::string whole = "[einsum] \"" + equation + "\": " + message;
    CHECK_THROWS_WITH_AS(einsum(equation, in), whole.c_str(), Error);
  };
  fails("ij,jk->ik", {{2, 7}, {5, 3}}, "index j has size 7 in operand 0 but 5 in operand 1");
  // Earlier calls must have no effect: the cache of plans must not confuse two equations, or two sets of shapes.
  einsum("ij->ij", {Tensor::zeros({2, 3})});
  CHECK_THROWS_AS(einsum("ij->ij(2, 3)", {}), Error);
  einsum("i,j->ij", {Tensor::zeros({2}), Tensor::zeros({3})});
  CHECK_THROWS_AS(einsum("i,j->ij(2,)", {Tensor::zeros({3})}), Error);
  fails("i,i,i", {{1}, {4}, {3}}, "index i has size 4 in operand 1 but 3 in operand 2");
  fails("...i,...j", {{2, 3}, {4, 3}}, "axis -1 of \"...\" has size 2 in operand 0 but 4 in operand 1");
  fails("ii", {{2, 3}}, "index i has sizes 2 and 3 in operand 0");
  fails("ii->i", {{1, 3}}, "index i has sizes 1 and 3 in operand 0");
  fails("ij->ijk", {{2, 3}}, "index k of the output is in no operand");
  fails("ij->ii", {{2, 3}}, "index i occurs twice in the output");
  fails("ij,jk", {{2, 3}}, "expected 2 operands, got 1");
  fails("ij", {{2, 3}, {3}}, "expected 1 operand, got 2");
  fails("ij", {}, "expected 1 operand, got 0");
  fails("ij", {{2}}, "operand 0 has 1 axis but 2 indices");
  fails("i", {{2, 3}}, "operand 0 has 2 axes but 1 index");
  fails("", {{2}}, "operand 0 has 1 axis but 0 indices");
  fails("ij...", {{2}}, "operand 0 has 1 axis but 2 indices");
  fails("i1", {{2, 3}}, "unexpected character '1' in operand 0");
  fails("i,j\n", {{2}, {3}}, "unexpected character '\n' in operand 1");
  fails("i->i->i", {{2}}, "unexpected character '-' in the output");
  fails("i - > i", {{2}}, "unexpected character '-' in operand 0");
  fails("i>", {{2}}, "unexpected character '>' in operand 0");
  fails("i..", {{2}}, "expected '.' only in \"...\", got another '.' in operand 0");
  fails("i....", {{2}}, "expected '.' only in \"...\", got another '.' in operand 0");
  fails("...i...", {{2}}, "expected at most one \"...\" in operand 0");
  fails("i->......", {{2}}, "expected at most one \"...\" in the output");
  fails("i->i,j", {{2}}, "unexpected character ',' in the output");

  const Tensor long_view = Tensor::zeros({1}).view({std::int64_t{1} << 40}, {0}, 0);
  CHECK_THROWS_WITH_AS(
      einsum("i,j->ij", {long_view, long_view}),
      "[einsum] \"i,j->ij\": the result, of shape (1099511627776, 1099511627776), has too many elements", Error);
  CHECK_THROWS_WITH_AS(
      einsum("i,i", {Tensor::zeros({2}), Tensor::zeros({2}, DType::f64)}),
      "[einsum] expected operands of the same dtype, got an f32 tensor of shape (2,) and an f64 tensor of shape (2,)",
      Error);
  CHECK_THROWS_WITH_AS(einsum("i", {Tensor::zeros({2}, DType::i64)}),
                       "[einsum] expected real or complex operands, got an i64 tensor of shape (2,)", Error);
  CHECK_THROWS_AS(einsum("i", {Tensor()}), Error);
}

}  // namespace weft::test
