// Parameters that are frozen after their optimizer was made, and parameter sets of another model.
#include <doctest/doctest.h>

#include <exception>
#include <utility>

#include "small_parameters.h"
#include "weft/context.h"
#include "weft/error.h"
#include "weft/ops.h"
#include "weft/optimizer.h"
#include "weft/tape.h"

namespace weft::test {

TEST_CASE("optimizer: parameters that are frozen later keep their values") {
  for (const char* name : {"adamw", "muon", "adafactor"}) {
    CAPTURE(name);
    NamedParameters parameters = small_parameters();
    OptimizerOptions options;
    options.name = name;
    options.weight_decay = 0.5;
    Optimizer optimizer(parameters, options);
    set_gradient(optimizer.parameters(), gradient(1));
    optimizer.step(1, 0.1);
    parameters[1].second.set_trainable(false);
    const Numbers before = flat(parameters);
    const auto states_of_w = [&] {
      Numbers all;
      for (std::size_t k = 0; k < optimizer.states(); ++k)
        for (std::int64_t i = 0; i < 4; ++i) all.push_back(optimizer.parameters().state(k).data<double>()[i]);
      return all;
    };
    const Numbers states = states_of_w();
    set_gradient(optimizer.parameters(), gradient(2));
    optimizer.step(2, 0.1);
    CHECK(states_of_w() == states);
    const Numbers after = flat(parameters);
    const std::size_t first = 4;  // the elements of w
    for (std::size_t i = 0; i < after.size(); ++i) CHECK((after[i] == before[i]) == (i < first));
    parameters[1].second.set_trainable(true);
    set_gradient(optimizer.parameters(), gradient(3));
    optimizer.step(3, 0.1);
    CHECK(flat(parameters).front() != before.front());
  }
}

TEST_CASE("optimizer: parameters that are frozen later keep their values if a step is interrupted") {
  struct Interrupted : std::exception {};
  for (int loop = 0, loops = 1; loop < loops; ++loop) {
    NamedParameters parameters = small_parameters();
    OptimizerOptions options;
    options.weight_decay = 0.5;
    Optimizer optimizer(parameters, options);
    parameters[1].second.set_trainable(false);
    const Numbers before = flat(parameters);
    set_gradient(optimizer.parameters(), gradient(1));
    int seen = 0;
    Context::current().set_interrupt([&] {
      if (seen++ == loop) throw Interrupted();
    });
    try {
      optimizer.step(1, 0.1);
    } catch (const Interrupted&) {
      loops = loop + 2;
    }
    Context::current().set_interrupt({});
    const Numbers after = flat(parameters);
    for (std::size_t i = 0; i < 4; ++i) CHECK(after[i] == before[i]);  // the elements of w
    if (loop == loops - 1) CHECK(loops > 4);
  }
}

TEST_CASE("optimizer: parameters that are frozen later have no part in the norm and the states") {
  const OptimizerOptions options{"adamw", {}, 0.5, 1.0};
  NamedParameters frozen = small_parameters(),
                  alone = {{"a", small_parameters()[0].second}, {"b", small_parameters()[2].second}};
  Optimizer optimizer(frozen, options), without(alone, options);
  frozen[1].second.set_trainable(false);
  for (int step = 1; step <= 3; ++step) {
    const Numbers g = gradient(step);
    set_gradient(optimizer.parameters(), g);
    set_gradient(without.parameters(), Numbers(g.begin() + 4, g.end()));
    CHECK(optimizer.step(step, 0.1) == doctest::Approx(without.step(step, 0.1)).epsilon(1e-14));
  }
  CHECK(frozen[0].second.value().to_vector<double>() == alone[0].second.value().to_vector<double>());
  CHECK(frozen[2].second.value().to_vector<double>() == alone[1].second.value().to_vector<double>());
  for (std::size_t k = 0; k < optimizer.states(); ++k)
    for (std::int64_t i = 0; i < 4; ++i) CHECK(optimizer.parameters().state(k).data<double>()[i] == 0);
}

TEST_CASE("optimizer: parameters that are frozen later keep their values if an update fails") {
  OptimizerKind kind;
  kind.name = "test's failing update";
  kind.update = [](ParameterRange& range, const UpdateStep&) {
    raw::fill(range.values, 7);
    throw Error("out of paper");
  };
  register_optimizer(std::move(kind));
  NamedParameters parameters = small_parameters();
  OptimizerOptions options;
  options.name = "test's failing update";
  options.weight_decay = 0;
  Optimizer optimizer(parameters, options);
  parameters[1].second.set_trainable(false);
  const Numbers before = flat(parameters);
  CHECK_THROWS_WITH_AS(optimizer.step(1, 0.1), doctest::Contains("out of paper"), Error);
  const Numbers after = flat(parameters);
  for (std::size_t i = 0; i < after.size(); ++i) CHECK(after[i] == (i < 4 ? before[i] : 7));
}

TEST_CASE("parameter set: a result that depends on none of its parameters is refused") {
  const NamedParameters ours = small_parameters(), theirs = small_parameters();
  ParameterSet set(ours);
  const auto backward = [&](Tape& tape, const std::vector<Tensor>& terms) {
    Tensor total = Tensor::scalar(0, DType::f64);
    for (const Tensor& term : terms) total = total + sum(term);
    tape.backward(total, set);
  };
  const auto message =
      doctest::Contains("[backward] expected a result that depends on trainable parameters of the set (a");
  {
    Tape tape;
    (void)sum(ours.front().second);  // recorded, but the result does not depend on it
    CHECK_THROWS_WITH_AS(backward(tape, {theirs.front().second}), message, Error);
  }
  {
    Tape tape;
    backward(tape, {theirs.front().second, ours.front().second});
  }
  {
    Tape tape;
    CHECK_THROWS_WITH_AS(backward(tape, {tape.watch(Tensor::zeros({2}, DType::f64))}), message, Error);
  }
  CHECK(flat(ours) == flat(small_parameters()));
  CHECK(set.gradient(set.entries().front()).to_vector<double>().front() == 1);
}

}  // namespace weft::test
