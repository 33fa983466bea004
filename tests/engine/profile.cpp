// Tests of Profile: what it measures, and that it counts nothing twice.
#include "weft/profile.h"

#include <doctest/doctest.h>

#include <chrono>
#include <thread>

#include "engine_ops.h"

using namespace weft;
using namespace weft::engine_test;

namespace {

using Clock = std::chrono::steady_clock;

double total(const Profile& profile) {
  double seconds = 0;
  for (const auto& [name, time] : profile.ops()) seconds += time.forward + time.recomputed + time.backward;
  return seconds;
}

std::vector<std::string> names(const Profile& profile) {
  std::vector<std::string> all;
  for (const auto& [name, time] : profile.ops()) all.push_back(name);
  return all;
}

// y = x + x, computed by another operation. Its backward pass does the same.
struct Outer : ElementwiseOp {
  const char* name() const noexcept override { return "test outer"; }
  Tensor forward(const Inputs& in, const Shape&) override { return add(in[0], in[0]); }
  bool keeps_input(std::size_t, const std::vector<bool>&) const override { return false; }
  void backward(Backward& b) const override { b.add(0, add(b.gradient(), b.gradient())); }
};

}  // namespace

TEST_CASE("profile: operations are listed by name, for the forward and the backward pass") {
  const auto start = Clock::now();
  const Profile profile;
  Tape tape;
  const Tensor x = tape.watch(vector_of({1, 2}));
  const Tensor y = sum(mul(add(x, x), x));
  CHECK(profile.ops().at("test add").backward == 0);
  Gradients gradients;
  tape.backward(y, gradients);
  CHECK(names(profile) == std::vector<std::string>{"gradients", "test add", "test mul", "test sum"});
  for (const char* name : {"test add", "test mul", "test sum"}) {
    const OpTime& time = profile.ops().at(name);
    CHECK(time.calls == 1);
    CHECK(time.forward > 0);
    CHECK(time.backward > 0);
    CHECK(time.recomputed == 0);
  }
  CHECK(total(profile) <= std::chrono::duration<double>(Clock::now() - start).count());
}

TEST_CASE("profile: an operation inside another counts as part of the outer one") {
  const Profile profile;
  Tape tape;
  const Tensor x = tape.watch(vector_of({1, 2}));
  Gradients gradients;
  tape.backward(apply_op(Outer(), {x}), vector_of({1, 1}), gradients);
  CHECK(values_of(gradients.of(x)) == Values{2, 2});
  CHECK(names(profile) == std::vector<std::string>{"gradients", "test outer"});
  CHECK(profile.ops().at("test outer").calls == 1);
}

TEST_CASE("profile: repeated runs are counted separately") {
  const auto start = Clock::now();
  const Profile profile;
  Tape tape;
  const Tensor x = tape.watch(vector_of({1, 2}));
  Gradients gradients;
  tape.backward(mul(square(x), x), vector_of({1, 1}), gradients);
  const OpTime& again = profile.ops().at("test square");
  CHECK(again.calls == 1);
  CHECK(again.recomputed > 0);
  CHECK(profile.ops().at("test mul").recomputed == 0);
  CHECK(total(profile) <= std::chrono::duration<double>(Clock::now() - start).count());
}

TEST_CASE("profile: only the innermost profile of this thread measures, while it is in scope") {
  const Tensor x = vector_of({1});
  const Profile outer;
  {
    const Profile inner;
    (void)add(x, x);
    CHECK(names(inner) == std::vector<std::string>{"test add"});
  }
  CHECK(outer.ops().empty());
  std::thread([&] { (void)add(x, x); }).join();
  CHECK(outer.ops().empty());
  (void)mul(x, x);
  CHECK(names(outer) == std::vector<std::string>{"test mul"});
}

TEST_CASE("profile: the profile stays valid after an operation fails") {
  const Profile profile;
  const Tensor x = vector_of({1});
  CHECK_THROWS_AS(apply_op(Fail(Fail::Where::forward), {x}), Error);
  (void)add(x, x);
  CHECK(profile.ops().at("test add").calls == 1);
}
