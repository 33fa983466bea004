// Tests of recompute(): the gradients are the same, bit by bit, while the tape keeps only the inputs.
#include <doctest/doctest.h>

#include <functional>
#include <string>
#include <utility>

#include "engine_ops.h"
#include "weft/context.h"
#include "weft/parameter.h"
#include "weft/profile.h"
#include "weft/random.h"
#include "weft/recompute.h"

using namespace weft;
using namespace weft::engine_test;

namespace {

// Calls recompute(), or calls the function directly.
using Region = std::function<Tensor(Recomputed, const Inputs&)>;
// Computes a result from x and w (both watched), p and q. The region computes a part of it.
using Graph =
    std::function<Tensor(const Region&, const Tensor& x, const Tensor& w, const Parameter& p, const Parameter& q)>;

Tensor numbers(std::uint64_t stream) { return Random(7, stream).normal({5}, 0, 1, DType::f64); }

// Records the gradients in the order in which they are delivered.
struct Completed : GradientSink {
  void begin(const std::vector<Leaf>& all) override {
    for (const Leaf& leaf : all) first_used.push_back(values_of(leaf.value));
  }
  void complete(const Leaf& leaf, Tensor gradient) override {
    came.push_back(values_of(leaf.value));
    gradients.push_back(values_of(gradient));
  }
  std::vector<Values> first_used, came, gradients;
};

Completed backward_of(const Graph& graph, bool again) {
  const Parameter p(numbers(1)), q(numbers(2));
  Tape tape;
  const Tensor x = tape.watch(numbers(3)), w = tape.watch(numbers(4));
  const Region region = again ? Region(recompute) : [](const Recomputed& fn, const Inputs& in) { return fn(in); };
  const Tensor y = graph(region, x, w, p, q);
  Completed completed;
  tape.backward(y, Random(7, 5).normal(y.shape(), 0, 1, DType::f64), completed);
  return completed;
}

const std::pair<const char*, Graph> graphs[] = {
    {"parameters used before, twice inside, and after",
     [](const Region& region, const Tensor& x, const Tensor&, const Parameter& p, const Parameter& q) {
       const Tensor before = mul(mul(x, p), q);
       const Tensor y = region(
           [&](const Inputs& in) { return mul(add(mul(in[0], p), mul(p, q)), exponential(mul(in[0], p))); }, {before});
       return add(mul(add(y, p), p), mul(mul(before, q), p));
     }},
    {"a first use inside, in another order than outside",
     [](const Region& region, const Tensor& x, const Tensor& w, const Parameter& p, const Parameter& q) {
       const Tensor y = region([&](const Inputs& in) { return mul(add(mul(in[0], q), p), q); }, {x});
       return mul(mul(y, p), w);
     }},
    {"an input used three times inside and three times outside",
     [](const Region& region, const Tensor& x, const Tensor& w, const Parameter&, const Parameter&) {
       const Tensor h = mul(x, w);
       const Tensor a = mul(h, numbers(6));
       const Tensor y = region(
           [](const Inputs& in) { return add(mul(in[0], numbers(7)), add(mul(in[0], numbers(8)), square(in[0]))); },
           {h});
       return add(add(a, y), add(mul(h, numbers(9)), mul(h, w)));
     }},
    {"several inputs, one of them twice, one left out, one a constant, one a parameter",
     [](const Region& region, const Tensor& x, const Tensor& w, const Parameter& p, const Parameter&) {
       const auto fn = [&](const Inputs& in) {
         REQUIRE(!in[3].defined());
         return add(mul(mul(in[0], in[1]), mul(in[2], in[4])), mul(mul(in[5], p), in[0]));
       };
       const Tensor y = region(fn, {x, w, x, Tensor(), numbers(6), Tensor(p)});
       return mul(mul(y, x), p);
     }},
    {"without a differentiable input",
     [](const Region& region, const Tensor& x, const Tensor&, const Parameter& p, const Parameter& q) {
       const Tensor y = region([&](const Inputs& in) { return mul(mul(in[0], p), mul(q, p)); }, {numbers(6)});
       return mul(y, x);
     }},
    {"layers that share parameters",
     [](const Region& region, const Tensor& x, const Tensor& w, const Parameter& p, const Parameter& q) {
       Tensor y = x;
       for (int i = 0; i < 4; ++i)
         y = add(y, region([&](const Inputs& in) { return mul(negate(mul(in[0], p)), add(q, p)); }, {y}));
       return mul(y, w);
     }},
    {"one inside another",
     [](const Region& region, const Tensor& x, const Tensor& w, const Parameter& p, const Parameter& q) {
       const auto inner = [&](const Inputs& in) { return mul(square(mul(in[0], p)), add(in[1], p)); };
       const auto outer = [&, inner](const Inputs& in) {
         const Tensor h = mul(in[0], q);
         return mul(add(region(inner, {h, in[0]}), h), p);
       };
       return add(mul(region(outer, {x}), w), x);
     }},
    {"parts of a parameter, inside and outside",
     [](const Region& region, const Tensor& x, const Tensor& w, const Parameter& p, const Parameter&) {
       const Tensor left = mul(slice(p, 0, 2), slice(x, 0, 2));
       const Tensor y =
           region([&](const Inputs& in) { return mul(mul(slice(p, 2, 5), slice(in[0], 2, 5)), slice(p, 0, 3)); }, {x});
       return mul(add(mul(sum(left), sum(y)), sum(slice(p, 1, 3))), sum(mul(w, w)));
     }},
    {"a cheap operation's output as input, and as result",
     [](const Region& region, const Tensor& x, const Tensor& w, const Parameter& p, const Parameter&) {
       const Tensor h = square(mul(x, w));
       const Tensor y = region([&](const Inputs& in) { return square(square(mul(in[0], p))); }, {h});
       return mul(mul(y, y), h);
     }},
    {"a leaf that is made after the result, and one that is used for nothing",
     [](const Region& region, const Tensor& x, const Tensor&, const Parameter& p, const Parameter& q) {
       const Tensor y = region(
           [&](const Inputs& in) {
             const Tensor result = mul(in[0], p);
             (void)mul(in[0], p);
             (void)Tensor(q);
             return result;
           },
           {x});
       return mul(mul(y, p), q);
     }},
    {"a result that is an input",
     [](const Region& region, const Tensor& x, const Tensor& w, const Parameter&, const Parameter&) {
       return mul(region([](const Inputs& in) { return in[0]; }, {x}), w);
     }},
};

}  // namespace

TEST_CASE("recompute: the gradients and the orders of delivery and of the leaves are those of a plain call") {
  for (const auto& [name, graph] : graphs) {
    const std::string of = name;
    CAPTURE(of);
    const Completed expected = backward_of(graph, false), got = backward_of(graph, true);
    CHECK((got.came == expected.came));
    CHECK((got.gradients == expected.gradients));
    CHECK((got.first_used == expected.first_used));
    CHECK(!got.gradients.empty());
  }
}

TEST_CASE("recompute: the function runs again in backward, but only once without a tape") {
  int runs = 0;
  const Recomputed twice_squared = [&](const Inputs& in) {
    ++runs;
    return mul(square(in[0]), square(in[0]));
  };
  CHECK(values_of(recompute(twice_squared, {vector_of({1, 2})})) == Values{1, 16});
  CHECK(runs == 1);
  Profile profile;
  Tape tape;
  const Tensor x = tape.watch(vector_of({1, 2})), y = recompute(twice_squared, {x});
  CHECK(values_of(y) == Values{1, 16});
  CHECK(runs == 2);
  CHECK(tape.records() == 2);
  Gradients g;
  tape.backward(y, vector_of({1, 1}), g);
  CHECK(runs == 3);
  CHECK(values_of(g.of(x)) == Values{4, 32});
  CHECK(profile.ops().at("recompute").recomputed > 0);
  CHECK(profile.ops().at("test mul").backward > 0);
  {
    const Tape unused;
    CHECK(values_of(recompute(twice_squared, {vector_of({3})})) == Values{81});  // a constant
    CHECK(unused.records() == 0);
  }
  {
    const Tape suspended;
    const NoGrad none;
    CHECK(!suspended.owns(recompute(twice_squared, {vector_of({3})})));
  }
  CHECK(runs == 5);
}

TEST_CASE("recompute: the tape keeps only the inputs, and backward needs the memory of one part") {
  Context context;
  const ContextScope scope(context);
  constexpr std::int64_t n = 1 << 15;
  constexpr int parts = 12, inside = 10;
  const std::size_t one = n * sizeof(double);
  const auto part = [](const Inputs& in) {
    Tensor y = in[0];
    for (int i = 0; i < inside; ++i) y = exponential(negate(y));
    return y;
  };
  Tape tape;
  Tensor y = tape.watch(Tensor::full({n}, 1, DType::f64));
  for (int i = 0; i < parts; ++i) y = recompute(part, {y});
  CHECK(memory_in_use() <= (parts + 1) * one);
  CHECK(context.memory().use().peak <= (parts + inside + 3) * one);
  y = sum(y);
  Gradients g;
  tape.backward(y, g);
  CHECK(context.memory().use().peak <= (parts + inside + 4) * one);
  CHECK(memory_in_use() <= 2 * one);
}

TEST_CASE("recompute: frozen parameters stay constants") {
  Parameter p(vector_of({2, 3})), q(vector_of({5, 7}));
  q.set_trainable(false);
  Tape tape;
  const Tensor x = vector_of({1, 1});
  const Tensor y = recompute([&](const Inputs& in) { return mul(mul(in[0], p), q); }, {x});
  Gradients g;
  tape.backward(y, vector_of({1, 1}), g);
  CHECK(values_of(g.of(p)) == Values{5, 7});
  CHECK(values_of(g.of(q)) == Values{0, 0});
}

TEST_CASE("recompute: reading a tensor of the tape that isn't an input is an error, also in nested calls") {
  const Parameter p(vector_of({2}));
  Tape tape;
  const Tensor x = tape.watch(vector_of({3})), hidden = square(x), weight = p;
  const auto refused =
      doctest::Contains("[recompute] the function reads a tensor of shape (1,) that is on the tape but not");
  CHECK_THROWS_WITH_AS(recompute([&](const Inputs& in) { return mul(in[0], hidden); }, {x}), refused, Error);
  CHECK_THROWS_WITH_AS(recompute([&](const Inputs& in) { return mul(hidden, in[0]); }, {x}), refused, Error);
  CHECK_THROWS_WITH_AS(recompute([&](const Inputs& in) { return mul(in[0], square(hidden)); }, {x}), refused, Error);
  CHECK_THROWS_WITH_AS(recompute([&](const Inputs& in) { return mul(in[0], weight); }, {x}), refused, Error);
  const auto inner = [&](const Inputs& in) { return mul(in[0], hidden); };
  CHECK_THROWS_WITH_AS(recompute([&](const Inputs& in) { return recompute(inner, in); }, {x}), refused, Error);
  CHECK_THROWS_WITH_AS(recompute(
                           [&](const Inputs& in) {
                             return recompute(inner, {hidden, in[0]});
                           },
                           {x}),
                       refused, Error);
  CHECK(Tape::recording() == &tape);
  Gradients g;
  tape.backward(recompute([](const Inputs& in) { return mul(in[0], in[1]); }, {x, hidden}), g);
  CHECK(values_of(g.of(x)) == Values{27});
}

TEST_CASE("recompute: writing a saved tensor before backward is an error") {
  Parameter p(vector_of({2, 3}));
  Tape tape;
  const Tensor x = tape.watch(vector_of({1, 2})), c = vector_of({4, 5}), h = mul(x, p);
  const Tensor y = recompute([&](const Inputs& in) { return mul(mul(in[0], p), in[1]); }, {h, c});
  SUBCASE("an input") { overwrite(h); }
  SUBCASE("a constant among the inputs") { overwrite(c); }
  SUBCASE("a parameter") { p.assign(vector_of({1, 1})); }
  Gradients g;
  CHECK_THROWS_WITH_AS(tape.backward(y, vector_of({1, 1}), g), doctest::Contains("[recompute] backward needs a tensor"),
                       Error);
}

TEST_CASE("recompute: a function that behaves differently in backward is an error and leaves nothing behind") {
  const Parameter p(vector_of({2, 3})), q(vector_of({5, 7}));
  const std::size_t before = memory_in_use();
  bool again = false;
  std::string what;
  std::function<Tensor(const Inputs&)> fn;
  SUBCASE("another shape") {
    fn = [&](const Inputs& in) { return again ? slice(mul(in[0], p), 0, 1) : mul(in[0], p); };
    what = "[recompute] the function returned an f64 tensor of shape (2,) in its first run, and something else";
  }
  SUBCASE("a constant") {
    fn = [&](const Inputs& in) { return again ? vector_of({1, 1}) : mul(in[0], p); };
    what = "[recompute] the function returned an f64 tensor of shape (2,) in its first run, and something else";
  }
  SUBCASE("one parameter more") {
    fn = [&](const Inputs& in) { return again ? mul(mul(in[0], p), q) : mul(in[0], p); };
    what = "[recompute] the function's second run reads a parameter that its first run didn't read";
  }
  SUBCASE("one parameter less") {
    fn = [&](const Inputs& in) { return again ? mul(in[0], p) : mul(mul(in[0], p), q); };
    what = "[recompute] the function's second run doesn't read a parameter that its first run read";
  }
  SUBCASE("an exception") {
    fn = [&](const Inputs& in) { return again ? apply_op(Fail(Fail::Where::memory), {in[0]}) : mul(in[0], p); };
    what = "memory";
  }
  {
    Tape tape;
    Gradients g;
    const Tensor x = tape.watch(vector_of({1, 2})), y = mul(recompute(fn, {x}), Tensor(q));
    again = true;
    CHECK_THROWS_WITH_AS(tape.backward(y, vector_of({1, 1}), g), doctest::Contains(what.c_str()), Error);
    CHECK_THROWS_WITH_AS(tape.backward(y, vector_of({1, 1}), g), doctest::Contains("consumed"), Error);
    CHECK(Tape::recording() == nullptr);
  }
  CHECK(memory_in_use() == before);
}

TEST_CASE("recompute: a function that fails or is empty leaves the tape unchanged") {
  Tape tape;
  const Tensor x = tape.watch(vector_of({1, 2}));
  CHECK_THROWS_WITH_AS(recompute({}, {x}), doctest::Contains("[recompute] expected a function"), Error);
  CHECK_THROWS_AS(recompute([](const Inputs& in) { return apply_op(Fail(Fail::Where::forward), in); }, {x}), Error);
  CHECK_THROWS_WITH_AS(recompute([](const Inputs&) -> Tensor { throw std::bad_alloc(); }, {x}),
                       doctest::Contains("[recompute] out of memory"), Error);
  CHECK(tape.records() == 1);
  CHECK(Tape::recording() == &tape);
}
