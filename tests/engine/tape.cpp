// Tests of a tape: what it records, on which tape and thread, and what it refuses.
#include "weft/tape.h"

#include <doctest/doctest.h>

#include <thread>

#include "engine_ops.h"

using namespace weft;
using namespace weft::engine_test;

namespace {

bool is_recorded(const Tensor& x) { return x.node().tape != 0; }

}  // namespace

TEST_CASE("tape: without a tape nothing is recorded") {
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

TEST_CASE("tape: backward consumes the tape") {
  Tape tape;
  const Tensor x = tape.watch(vector_of({2})), y = mul(x, x);
  Gradients g, again;
  tape.backward(y, g);
  CHECK_THROWS_WITH_AS(tape.backward(y, again), doctest::Contains("consumed"), Error);
  CHECK_THROWS_AS(tape.watch(vector_of({1})), Error);
  CHECK(tape.records() == 0);
  CHECK(Tape::recording() == nullptr);
  const Tensor z = mul(x, y);  // the nodes are stale, so x and y are constants
  CHECK_FALSE(is_recorded(z));
  CHECK(values_of(g.of(x)) == Values{4});
}

TEST_CASE("tape: invalid arguments are errors and leave the tape usable") {
  Tape tape;
  const Tensor x = tape.watch(vector_of({1, 2})), y = mul(x, x);
  Gradients g;
  CHECK_THROWS_AS(tape.backward(y, g), Error);                        // two elements and no cotangent
  CHECK_THROWS_AS(tape.backward(y, vector_of({1, 2, 3}), g), Error);  // wrong shape
  CHECK_THROWS_AS(tape.backward(y, Tensor::zeros({2}), g), Error);    // wrong dtype
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

TEST_CASE("tape: the innermost tape records") {
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
    CHECK(tape.records() == 3);  // one leaf and two products
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
  CHECK(values_of(g.of(leaf)) == Values{2, 3});  // the same leaf, found by its tensor
  CHECK(values_of(g.of(p)) == Values{0, 0});
}

TEST_CASE("tape: each of two threads has its own tape" * doctest::test_suite("threads")) {
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

TEST_CASE("tape: a tape belongs to its thread" * doctest::test_suite("threads")) {
  Tape tape;
  const Tensor x = tape.watch(vector_of({2})), y = mul(x, x);
  int errors = 0;
  bool recorded = true, other_recorded = true;
  std::thread([&] {
    Gradients g;
    recorded = is_recorded(mul(x, x));  // this thread has no tape
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
