// Tests of what a tape keeps and recomputes, and of what happens when a tensor is written or an operation fails.
#include <doctest/doctest.h>

#include "engine_ops.h"
#include "weft/context.h"

using namespace weft;
using namespace weft::engine_test;

TEST_CASE("tape: writing a saved tensor before backward is an error that names the operation") {
  Tape tape;
  const Tensor x = tape.watch(vector_of({1, 2})), c = vector_of({3, 4});
  Gradients g;
  SUBCASE("an input") {
    const Tensor y = mul(x, c);
    overwrite(c);
    CHECK_THROWS_WITH_AS(tape.backward(y, vector_of({1, 1}), g), doctest::Contains("[test mul]"), Error);
  }
  SUBCASE("an input, written through a view") {
    const Tensor y = mul(x, c);
    overwrite(c.view({1}, {1}, 1));
    CHECK_THROWS_WITH_AS(tape.backward(y, vector_of({1, 1}), g), doctest::Contains("[test mul]"), Error);
  }
  SUBCASE("an input, overwritten after other operations") {
    const Tensor y = sum(negate(mul(x, c)));
    overwrite(c);
    CHECK_THROWS_WITH_AS(tape.backward(y, g), doctest::Contains("[test mul]"), Error);
  }
  SUBCASE("the output") {
    const Tensor y = exponential(x);
    overwrite(y);
    CHECK_THROWS_WITH_AS(tape.backward(y, vector_of({1, 1}), g), doctest::Contains("[test exp]"), Error);
  }
  SUBCASE("the output of a cheap operation that saves it") {
    const Tensor y = exponential(x, true), z = mul(y, y);
    overwrite(y);
    CHECK_THROWS_AS(tape.backward(z, vector_of({1, 1}), g), Error);
  }
  SUBCASE("the input of a cheap operation, which is needed to recompute its output") {
    const Tensor y = square(x), z = mul(y, c);
    overwrite(x);
    CHECK_THROWS_WITH_AS(tape.backward(z, vector_of({1, 1}), g), doctest::Contains("[test square]"), Error);
  }
  SUBCASE("the same, when the output was watched again") {
    const Tensor y = square(x), w = tape.watch(y), z = mul(w, w);
    overwrite(x);
    CHECK_THROWS_AS(tape.backward(z, vector_of({1, 1}), g), Error);
  }
  CHECK(tape.records() > 0);  // backward did not consume the tape
}

TEST_CASE("tape: tensors that backward doesn't need may be written") {
  Tape tape;
  const Tensor x = tape.watch(vector_of({1, 2})), c = vector_of({3, 4});
  Gradients g;
  SUBCASE("both inputs of a sum") {
    const Tensor y = add(x, c);
    overwrite(x);
    overwrite(c);
    overwrite(y);
    tape.backward(y, vector_of({5, 6}), g);
    CHECK(values_of(g.of(x)) == Values{5, 6});
  }
  SUBCASE("the factor whose gradient is requested") {
    const Tensor y = mul(x, c);
    overwrite(x);
    tape.backward(y, vector_of({1, 1}), g);
    CHECK(values_of(g.of(x)) == Values{3, 4});
  }
  SUBCASE("tensors that do not affect the result") {
    const Tensor y = mul(x, c), other = vector_of({1, 1});
    mul(x, other);
    overwrite(other);
    tape.backward(y, vector_of({1, 1}), g);
    CHECK(values_of(g.of(x)) == Values{3, 4});
  }
  SUBCASE("a cheap operation's output, which is recomputed with its old values") {
    const Tensor y = square(x), z = mul(y, y);
    overwrite(y);
    tape.backward(z, vector_of({1, 1}), g);
    CHECK(values_of(g.of(x)) == Values{4, 32});
  }
}

TEST_CASE("tape: a cheap output that was written before its use is saved with its new values") {
  Tape tape;
  const Tensor x = tape.watch(vector_of({1, 2}));
  const Tensor y = square(x);
  overwrite(y);  // writes (2, 4)
  const Tensor z = mul(y, y);
  Gradients g;
  tape.backward(z, vector_of({1, 1}), g);
  CHECK(values_of(g.of(x)) == Values{2 * 2 * 2, 2 * 4 * 4});
}

TEST_CASE("tape: cheap outputs are not saved but recomputed once") {
  Context context;
  const ContextScope scope(context);
  const std::int64_t n = 10000;
  const std::size_t bytes = n * sizeof(double);
  int runs = 0;
  Tape tape;
  const Tensor x = tape.watch(Tensor::full({n}, 2, DType::f64));
  Tensor z;
  {
    const Tensor y = square(x, &runs);
    z = mul(mul(y, y), y);
  }
  const Tensor result = sum(z);
  CHECK(runs == 1);
  z = Tensor();
  CHECK(memory_in_use() < 3 * bytes);  // the tape keeps x and the product y y, but neither y nor z
  Gradients g;
  tape.backward(result, g);
  CHECK(runs == 2);
  CHECK(g.of(x).data<double>()[n - 1] == 6 * 32);
}

TEST_CASE("tape: long chains of cheap operations give correct results with few recomputations") {
  Tape tape;
  const Tensor x = tape.watch(vector_of({1.01}));
  Tensor y = x;
  int runs = 0;
  for (int i = 0; i < 10; ++i) y = square(y, &runs);
  CHECK(runs == 10);
  Gradients g;
  tape.backward(y, g);
  CHECK(values_of(g.of(x))[0] == doctest::Approx(1024 * std::pow(1.01, 1023)).epsilon(1e-12));
  CHECK(runs <= 20);
}

TEST_CASE("tape: a view of a cheap output is a view of the recomputed output") {
  Tape tape;
  const Tensor x = tape.watch(vector_of({1, 2, 3, 4}));
  const Tensor y = square(x), tail = slice(y, 2, 4);
  const Tensor z = mul(tail, slice(y, 0, 2));
  overwrite(y);
  Gradients g;
  tape.backward(z, vector_of({1, 1}), g);
  CHECK(values_of(g.of(x)) == Values{2 * 9, 4 * 16, 6 * 1, 8 * 4});
}

TEST_CASE("tape: after an exception the tape is usable and all memory is freed") {
  Tape tape;
  const Tensor x = tape.watch(vector_of({3}));
  const Tensor y = mul(x, x);
  for (Fail::Where where : {Fail::Where::shape, Fail::Where::forward, Fail::Where::memory}) {
    const std::size_t before = memory_in_use();
    CHECK_THROWS_WITH_AS(apply_op(Fail(where), {y}), doctest::Contains("[test fail]"), Error);
    CHECK(memory_in_use() == before);
    CHECK(tape.records() == 2);
    CHECK(Tape::recording() == &tape);
  }
  CHECK_THROWS_AS(mul(x, vector_of({1, 2})), Error);
  Gradients g;
  tape.backward(y, g);
  CHECK(values_of(g.of(x)) == Values{6});
}

TEST_CASE("tape: an exception in backward consumes the tape and frees everything") {
  struct Refuses : GradientSink {
    void complete(const Leaf&, Tensor) override { throw std::bad_alloc(); }
  };
  const std::size_t before = memory_in_use();
  Tape tape;
  Refuses refuses;
  Gradients g;
  {
    const Tensor x = tape.watch(vector_of({3}));
    Tensor y = square(mul(x, x));
    SUBCASE("an operation throws") {
      y = apply_op(Fail(Fail::Where::backward), {y});
      CHECK_THROWS_AS(tape.backward(y, g), std::runtime_error);
    }
    SUBCASE("a gradient has the wrong shape") {
      y = apply_op(Fail(Fail::Where::wrong_gradient), {y});
      CHECK_THROWS_WITH_AS(tape.backward(y, g), doctest::Contains("[test fail] backward"), Error);
    }
    SUBCASE("the sink throws") { CHECK_THROWS_WITH_AS(tape.backward(y, refuses), doctest::Contains("memory"), Error); }
    CHECK_THROWS_WITH_AS(tape.backward(y, g), doctest::Contains("consumed"), Error);
  }
  CHECK(memory_in_use() == before);
  CHECK(Tape::recording() == nullptr);
}

TEST_CASE("tape: all memory is released") {
  Context context;
  const ContextScope scope(context);
  {
    Tape tape;
    const Tensor x = tape.watch(Tensor::full({1000}, 1, DType::f64));
    const Tensor y = sum(exponential(square(mul(x, x))));
    Gradients g;
    tape.backward(y, g);
    CHECK(g.of(x).numel() == 1000);
  }
  CHECK(memory_in_use() == 0);
  {
    Tape unused;
    const Tensor x = unused.watch(Tensor::full({1000}, 1, DType::f64));
    exponential(square(mul(x, x)));
  }
  CHECK(memory_in_use() == 0);
}

TEST_CASE("tape: without a tape intermediate results are freed immediately") {
  Context context;
  const ContextScope scope(context);
  Tensor y = Tensor::full({1 << 15}, 1, DType::f64);
  const std::size_t one = memory_in_use();
  for (int i = 0; i < 20; ++i) y = negate(exponential(y));
  CHECK(memory_in_use() == one);
  CHECK(context.memory().use().peak <= 3 * one);
}

TEST_CASE("tape: backward frees saved tensors as it proceeds") {
  Context context;
  const ContextScope scope(context);
  const std::int64_t n = 1 << 15;
  Tape tape;
  Tensor y = tape.watch(Tensor::full({n}, 1, DType::f64));
  const std::size_t one = memory_in_use();
  for (int i = 0; i < 20; ++i) y = exponential(negate(y));
  y = sum(y);
  const std::size_t kept = memory_in_use();
  CHECK(kept < 22 * one);
  context.memory().reset_peak();
  Gradients g;
  tape.backward(y, g);
  CHECK(context.memory().use().peak <= kept + 3 * one);
}

TEST_CASE("tape: after the first step, equal steps allocate no memory from the system") {
  Context context;
  const ContextScope scope(context);
  const Parameter p(Tensor::full({5000}, 0.5, DType::f64));
  std::size_t after_first = 0;
  for (int step = 0; step < 5; ++step) {
    Tape tape;
    Gradients g;
    tape.backward(sum(exponential(square(mul(p, p)))), g);
    CHECK(g.of(p).numel() == 5000);
    const std::size_t allocations = context.memory().use().system_allocations;
    if (step == 0) after_first = allocations;
    CHECK(allocations == after_first);
  }
  CHECK(after_first > 0);
}
