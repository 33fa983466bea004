// Tests of the gradients that a tape's backward pass computes, and of the objects that receive them.
#include <doctest/doctest.h>

#include "engine_ops.h"

using namespace weft;
using namespace weft::engine_test;

namespace {

// Records the order in which leaves are completed.
struct Order : GradientSink {
  void complete(const Leaf& leaf, Tensor) override { shapes.push_back(leaf.value.size(0)); }
  std::vector<std::int64_t> shapes;
};

}  // namespace

TEST_CASE("tape: gradients of products and sums") {
  Tape tape;
  const Tensor a = tape.watch(vector_of({1, 2, 3})), b = tape.watch(vector_of({4, 5, 6})), c = vector_of({7, 8, 9});
  // d/da (a b + a c) = b + c; d/db = a
  const Tensor y = sum(add(mul(a, b), mul(a, c)));
  Gradients gradients;
  tape.backward(y, gradients);
  CHECK(values_of(gradients.of(a)) == Values{11, 13, 15});
  CHECK(values_of(gradients.of(b)) == Values{1, 2, 3});
}

TEST_CASE("tape: a tensor's gradient is the sum over all its uses") {
  Tape tape;
  const Tensor x = tape.watch(vector_of({3, -2}));
  SUBCASE("x * x") {
    Gradients g;
    tape.backward(mul(x, x), vector_of({1, 10}), g);
    CHECK(values_of(g.of(x)) == Values{6, -40});
  }
  SUBCASE("x + x") {
    Gradients g;
    tape.backward(add(x, x), vector_of({1, 10}), g);
    CHECK(values_of(g.of(x)) == Values{2, 20});
  }
  SUBCASE("x, x^2 and x^3 in one sum") {
    const Tensor y = add(add(x, mul(x, x)), mul(x, mul(x, x)));
    Gradients g;
    tape.backward(y, vector_of({1, 1}), g);
    CHECK(values_of(g.of(x)) == Values{1 + 6 + 27, 1 - 4 + 12});
  }
  SUBCASE("a thousand uses") {
    Tensor y = x;
    for (int i = 0; i < 999; ++i) y = add(y, x);
    Gradients g;
    tape.backward(y, vector_of({1, 2}), g);
    CHECK(values_of(g.of(x)) == Values{1000, 2000});
  }
  SUBCASE("a gradient written in place is not shared with another") {
    const Tensor y = add(negate(x), add(x, negate(x)));
    Gradients g;
    const Tensor cotangent = vector_of({1, 2});
    tape.backward(y, cotangent, g);
    CHECK(values_of(g.of(x)) == Values{-1, -2});
    CHECK(values_of(cotangent) == Values{1, 2});
  }
  SUBCASE("a view of stride 0 is not added to in place") {
    const Tensor y = add(sum(x), add(sum(x), sum(mul(x, x))));
    Gradients g;
    tape.backward(y, g);
    CHECK(values_of(g.of(x)) == Values{8, -2});
  }
}

TEST_CASE("tape: the gradient of a slice is added to its parent's gradient") {
  Tape tape;
  const Tensor x = tape.watch(vector_of({1, 2, 3, 4}));
  const Tensor middle = slice(x, 1, 4);
  const Tensor y = add(mul(slice(x, 0, 2), vector_of({10, 20})), mul(slice(middle, 0, 2), vector_of({300, 400})));
  CHECK(values_of(y) == Values{610, 1240});
  Gradients g;
  const Tensor cotangent = vector_of({1, 1});
  tape.backward(y, cotangent, g);
  CHECK(values_of(g.of(x)) == Values{10, 320, 400, 0});
  CHECK(values_of(cotangent) == Values{1, 1});
}

TEST_CASE("tape: a slice's gradient does not change a gradient shared with another tensor") {
  Tape tape;
  const Tensor x = tape.watch(vector_of({1, 2})), z = tape.watch(vector_of({0, 0}));
  const Tensor part = slice(x, 0, 1);
  const Tensor whole = add(x, z);  // x and z receive the same gradient
  Gradients g;
  tape.backward(add(sum(whole), sum(part)), g);
  CHECK(values_of(g.of(x)) == Values{2, 1});
  CHECK(values_of(g.of(z)) == Values{1, 1});
}

TEST_CASE("tape: gradients belong to their receiver") {
  Tape tape;
  const Tensor a = tape.watch(vector_of({1, 2})), b = tape.watch(vector_of({3, 4}));
  const Tensor cotangent = vector_of({5, 6});
  Gradients g;
  tape.backward(add(a, b), cotangent, g);
  Tensor of_a = g.of(a);
  of_a.mutable_data<double>()[0] = 100;
  CHECK(values_of(g.of(b)) == Values{5, 6});
  CHECK(values_of(cotangent) == Values{5, 6});

  Tape again;
  const Tensor x = again.watch(vector_of({1, 2}));
  Gradients spread;
  again.backward(sum(x), spread);
  Tensor of_x = spread.of(x);
  of_x.mutable_data<double>()[0] = 3;
  CHECK(values_of(of_x) == Values{3, 1});
}

TEST_CASE("tape: leaves that don't affect the result have zero gradients and aren't delivered") {
  Tape tape;
  const Tensor a = tape.watch(vector_of({1, 2})), b = tape.watch(vector_of({1, 2, 3}));
  const Tensor y = sum(mul(a, a));
  sum(mul(b, b));
  Gradients g;
  Order order;
  SUBCASE("zeros") {
    tape.backward(y, g);
    CHECK(values_of(g.of(b)) == Values{0, 0, 0});
  }
  SUBCASE("not delivered") {
    tape.backward(y, order);
    CHECK(order.shapes == std::vector<std::int64_t>{2});
  }
}

TEST_CASE("tape: each leaf is delivered once, as soon as it is complete") {
  Tape tape;
  const Tensor first = tape.watch(vector_of({1}));
  const Tensor early = sum(mul(first, first));
  const Tensor second = tape.watch(vector_of({1, 2}));
  const Tensor late = sum(mul(second, second));
  Order order;
  tape.backward(add(early, late), order);
  CHECK(order.shapes == std::vector<std::int64_t>{2, 1});
}

TEST_CASE("tape: the result may be a leaf") {
  Tape tape;
  const Tensor x = tape.watch(vector_of({1, 2}));
  Gradients g;
  tape.backward(x, vector_of({3, 4}), g);
  CHECK(values_of(g.of(x)) == Values{3, 4});
}

TEST_CASE("tape: the result may be in the middle of the tape") {
  Tape tape;
  const Tensor x = tape.watch(vector_of({2}));
  const Tensor y = mul(x, x);
  mul(y, y);
  Gradients g;
  tape.backward(y, g);
  CHECK(values_of(g.of(x)) == Values{4});
}

TEST_CASE("tape: gradients of a parameter add up over several tapes") {
  const Parameter p(vector_of({2}));
  Gradients g;
  for (double c : {1.0, 10.0, 100.0}) {
    Tape tape;
    tape.backward(mul(p, vector_of({c})), g);
  }
  CHECK(values_of(g.of(p)) == Values{111});
  CHECK(values_of(g.of(p)) == Values{111});  // reading does not change the gradients
}

TEST_CASE("tape: complex leaves") {
  Tape tape;
  const Tensor x = tape.watch(Tensor::zeros({2}, DType::c128));
  Gradients g;
  tape.backward(x, Tensor::full({2}, 3, DType::c128), g);
  CHECK(g.of(x).to_vector<std::complex<double>>() == std::vector<std::complex<double>>{3, 3});
}

TEST_CASE("tape: empty tensors") {
  Tape tape;
  const Tensor x = tape.watch(vector_of({}));
  Gradients g;
  tape.backward(sum(mul(x, x)), g);
  CHECK(g.of(x).shape() == Shape{0});
}

TEST_CASE("tape: a chain of a hundred thousand records") {
  Tape tape;
  const Tensor x = tape.watch(vector_of({1}));
  Tensor y = x;
  for (int i = 0; i < 100000; ++i) y = negate(y);
  Gradients g;
  tape.backward(y, g);
  CHECK(values_of(g.of(x)) == Values{1});
}
