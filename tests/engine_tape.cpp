// Tape: what is recorded, what backward gives, what it refuses.
#include "weft/tape.h"

#include <doctest/doctest.h>

#include <thread>

#include "engine_ops.h"
#include "weft/context.h"

using namespace weft;
using namespace weft::engine_test;

namespace {

// The order in which leaves are completed.
struct Order : GradientSink {
  void complete(const Leaf& leaf, Tensor) override { shapes.push_back(leaf.value.size(0)); }
  std::vector<std::int64_t> shapes;
};

bool is_recorded(const Tensor& x) { return x.node().tape != 0; }

}  // namespace

TEST_CASE("tape: without one nothing is recorded") {
  const Tensor x = vector_of({1, 2}), y = mul(x, x);
  CHECK(values_of(y) == Values{1, 4});
  CHECK_FALSE(is_recorded(y));
  CHECK(Tape::recording() == nullptr);
  const Parameter p(vector_of({3, 4}));
  CHECK_FALSE(is_recorded(mul(p, x)));
}

TEST_CASE("tape: an operation is recorded only if an input has a node") {
  Tape tape;
  const Tensor x = vector_of({1, 2});
  CHECK_FALSE(is_recorded(mul(x, x)));
  CHECK(tape.records() == 0);
  const Tensor w = tape.watch(x);
  CHECK_FALSE(is_recorded(x));
  CHECK(is_recorded(w));
  CHECK(is_recorded(mul(x, w)));
  CHECK(tape.records() == 2);
  CHECK_FALSE(is_recorded(mul(x, w.detach())));
}

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

TEST_CASE("tape: contributions of many uses add up") {
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
  SUBCASE("a thousand times") {
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

TEST_CASE("tape: slices add into their parent's gradient") {
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

TEST_CASE("tape: a slice's gradient doesn't leak into a gradient shared with others") {
  Tape tape;
  const Tensor x = tape.watch(vector_of({1, 2})), z = tape.watch(vector_of({0, 0}));
  const Tensor part = slice(x, 0, 1);
  const Tensor whole = add(x, z);  // x and z are given the same gradient
  Gradients g;
  tape.backward(add(sum(whole), sum(part)), g);
  CHECK(values_of(g.of(x)) == Values{2, 1});
  CHECK(values_of(g.of(z)) == Values{1, 1});
}

TEST_CASE("tape: what backward gives is the receiver's own") {
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

TEST_CASE("tape: leaves that the result doesn't depend on have zero gradients and aren't delivered") {
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

TEST_CASE("tape: a result in the middle of the tape") {
  Tape tape;
  const Tensor x = tape.watch(vector_of({2}));
  const Tensor y = mul(x, x);
  mul(y, y);
  Gradients g;
  tape.backward(y, g);
  CHECK(values_of(g.of(x)) == Values{4});
}

TEST_CASE("tape: backward consumes it") {
  Tape tape;
  const Tensor x = tape.watch(vector_of({2})), y = mul(x, x);
  Gradients g, again;
  tape.backward(y, g);
  CHECK_THROWS_WITH_AS(tape.backward(y, again), doctest::Contains("consumed"), Error);
  CHECK_THROWS_AS(tape.watch(vector_of({1})), Error);
  CHECK(tape.records() == 0);
  CHECK(Tape::recording() == nullptr);
  const Tensor z = mul(x, y);  // stale nodes: constants
  CHECK_FALSE(is_recorded(z));
  CHECK(values_of(g.of(x)) == Values{4});
}

TEST_CASE("tape: arguments that don't fit are errors and leave it usable") {
  Tape tape;
  const Tensor x = tape.watch(vector_of({1, 2})), y = mul(x, x);
  Gradients g;
  CHECK_THROWS_AS(tape.backward(y, g), Error);                        // two elements, no cotangent
  CHECK_THROWS_AS(tape.backward(y, vector_of({1, 2, 3}), g), Error);  // shape
  CHECK_THROWS_AS(tape.backward(y, Tensor::zeros({2}), g), Error);    // dtype
  CHECK_THROWS_AS(tape.backward(y, Tensor(), g), Error);              // undefined
  CHECK_THROWS_AS(tape.backward(Tensor(), g), Error);
  CHECK_THROWS_AS(tape.backward(vector_of({1}), g), Error);  // a constant
  CHECK_THROWS_AS(tape.watch(Tensor::zeros({2}, DType::i64)), Error);
  CHECK_THROWS_AS(tape.watch(Tensor()), Error);
  {
    Tape other;
    const Tensor z = other.watch(vector_of({1}));
    CHECK_THROWS_AS(tape.backward(z, g), Error);
  }
  tape.backward(y, vector_of({1, 1}), g);
  CHECK(values_of(g.of(x)) == Values{2, 4});
  CHECK_THROWS_AS(g.of(vector_of({1, 2})), Error);  // not watched
}

TEST_CASE("tape: nodes of another or a finished tape are constants") {
  Tensor stale;
  {
    Tape finished;
    stale = square(finished.watch(vector_of({5, 6})));
    CHECK(is_recorded(stale));
  }
  Tape tape;
  const Tensor x = tape.watch(vector_of({1, 2}));
  CHECK_FALSE(tape.owns(stale));
  CHECK_FALSE(is_recorded(mul(x.detach(), x.detach())));
  const Tensor y = mul(x, stale);
  CHECK(tape.records() == 2);
  Gradients g;
  tape.backward(y, vector_of({1, 1}), g);
  CHECK(values_of(g.of(x)) == Values{25, 36});
}

TEST_CASE("tape: the innermost records") {
  Tape outer;
  const Tensor x = outer.watch(vector_of({3}));
  const Tensor y = mul(x, x);
  {
    Tape inner;
    CHECK(Tape::recording() == &inner);
    CHECK_FALSE(inner.owns(mul(x, x)));
    const Tensor z = inner.watch(y);
    const Tensor v = mul(z, mul(x, z));  // x is a constant here
    Gradients g;
    inner.backward(v, g);
    CHECK(values_of(g.of(z)) == Values{2 * 9 * 3});
    CHECK(outer.records() == 2);
  }
  CHECK(Tape::recording() == &outer);
  Gradients g;
  outer.backward(mul(y, x), g);
  CHECK(values_of(g.of(x)) == Values{27});
}

TEST_CASE("tape: tapes may end in any order") {
  auto first = std::make_unique<Tape>(), second = std::make_unique<Tape>(), third = std::make_unique<Tape>();
  second.reset();
  CHECK(Tape::recording() == third.get());
  first.reset();
  third.reset();
  CHECK(Tape::recording() == nullptr);
}

TEST_CASE("tape: NoGrad suspends recording") {
  const Parameter p(vector_of({3}));
  Tape tape;
  const Tensor x = tape.watch(vector_of({2}));
  {
    NoGrad suspended;
    CHECK_FALSE(is_recorded(mul(x, x)));
    CHECK_FALSE(is_recorded(p));
    NoGrad nested;
    CHECK(Tape::recording() == nullptr);
    Tape inner;
    CHECK(is_recorded(square(inner.watch(x))));
  }
  const Tensor constant = [&] {
    NoGrad suspended;
    return mul(x, x);
  }();
  Gradients g;
  tape.backward(mul(constant, x), g);
  CHECK(values_of(g.of(x)) == Values{4});
}

TEST_CASE("tape: parameters are leaves, frozen ones constants") {
  Parameter p(vector_of({2, 3})), frozen(vector_of({5, 7}), false);
  {
    Tape tape;
    const Tensor y = mul(mul(p, p), frozen);
    CHECK(tape.records() == 3);  // one leaf, two products
    Gradients g;
    tape.backward(y, vector_of({1, 1}), g);
    CHECK(values_of(g.of(p)) == Values{20, 42});
    CHECK(values_of(g.of(frozen)) == Values{0, 0});
  }
  p.set_trainable(false);
  frozen.set_trainable(true);
  Tape tape;
  const Tensor leaf = frozen;
  const Tensor y = mul(p, leaf);
  Gradients g;
  tape.backward(y, vector_of({1, 1}), g);
  CHECK(values_of(g.of(frozen)) == Values{2, 3});
  CHECK(values_of(g.of(leaf)) == Values{2, 3});  // the same leaf, asked for by its tensor
  CHECK(values_of(g.of(p)) == Values{0, 0});
}

TEST_CASE("tape: gradients of a parameter add up over several tapes") {
  const Parameter p(vector_of({2}));
  Gradients g;
  for (double c : {1.0, 10.0, 100.0}) {
    Tape tape;
    tape.backward(mul(p, vector_of({c})), g);
  }
  CHECK(values_of(g.of(p)) == Values{111});
  CHECK(values_of(g.of(p)) == Values{111});  // asking changes nothing
}

TEST_CASE("tape: two threads have their own") {
  const Tensor shared = vector_of({1, 2, 3});
  const Parameter p(vector_of({4, 5, 6}));
  std::vector<int> wrong(2, 0);
  std::vector<std::thread> threads;
  for (std::size_t t : {0, 1})
    threads.emplace_back([&, t] {
      for (int i = 0; i < 300; ++i) {
        Tape tape;
        const Tensor x = tape.watch(shared);
        const Tensor y = sum(mul(square(x), p));
        Gradients g;
        tape.backward(y, g);
        wrong[t] += values_of(g.of(x)) != Values{8, 20, 36} || values_of(g.of(p)) != Values{1, 4, 9};
      }
    });
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == std::vector<int>{0, 0});
}

TEST_CASE("tape: it belongs to its thread") {
  Tape tape;
  const Tensor x = tape.watch(vector_of({2})), y = mul(x, x);
  int errors = 0;
  bool recorded = true, other_recorded = true;
  std::thread([&] {
    Gradients g;
    recorded = is_recorded(mul(x, x));  // no tape on this thread
    Tape other;
    other_recorded = other.owns(mul(x, other.watch(x).detach()));
    try {
      tape.backward(y, g);
    } catch (const Error&) {
      ++errors;
    }
    try {
      tape.watch(x);
    } catch (const Error&) {
      ++errors;
    }
  }).join();
  CHECK(errors == 2);
  CHECK_FALSE(recorded);
  CHECK_FALSE(other_recorded);
  Gradients g;
  tape.backward(y, g);
  CHECK(values_of(g.of(x)) == Values{4});
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

TEST_CASE("tape: a hundred thousand records in a row") {
  Tape tape;
  const Tensor x = tape.watch(vector_of({1}));
  Tensor y = x;
  for (int i = 0; i < 100000; ++i) y = negate(y);
  Gradients g;
  tape.backward(y, g);
  CHECK(values_of(g.of(x)) == Values{1});
}
