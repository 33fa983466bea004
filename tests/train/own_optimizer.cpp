// Tests of optimizers and schedules that a program defines.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "contains.h"
#include "same_parameters.h"
#include "temporary_folder.h"
#include "train_support.h"
#include "weft/ops.h"
#include "weft/safetensors.h"
#include "weft/trainer.h"

namespace weft::test {
namespace {

// p -= lr · scale · sign(g) for the first `decayed` elements, and p -= lr · g for the others. The state counts the
// steps.
OptimizerKind signs(const std::string& name) {
  OptimizerKind kind;
  kind.name = name;
  kind.own = {{"scale", 2, 0, 100, "size of the steps of matrices"}};
  kind.weight_decay = 0;
  kind.rate = 3;
  kind.states = 1;
  kind.update = [](ParameterRange& range, const UpdateStep& step) {
    const std::int64_t count = range.values.numel();
    float *value = range.values.mutable_data<float>(), *steps = range.states.at(0).mutable_data<float>();
    const float* gradient = range.gradients.data<float>();
    for (std::int64_t i = 0; i < count; ++i) {
      const float sign = gradient[i] > 0 ? 1.0F : gradient[i] < 0 ? -1.0F : 0.0F;
      value[i] -=
          static_cast<float>(step.lr) * (i < step.decayed ? static_cast<float>(step.own.at(0)) * sign : gradient[i]);
      steps[i] += 1;
    }
  };
  return kind;
}

}  // namespace

TEST_CASE("own optimizer: trains, has a description, and resumes with the same bits") {
  register_optimizer(signs("test's signs"));
  const auto all = optimizers();
  CHECK(all.back().name == "test's signs");
  CHECK(all.back().rate == 3);
  const TemporaryFolder folder;
  const auto options = [] {
    TrainOptions o = small_options(6);
    o.optimizer = {"test's signs", {{"scale", 0.5}}};
    o.schedule.peak = 1e-3;
    return o;
  }();
  SmallTask whole = small_task("gmlp", Task::causal_lm);
  Trainer trainer(*whole.model, *whole.data, options);
  const double first = trainer.step();
  for (int i = 1; i < 6; ++i) (void)trainer.step();
  SmallTask parts = small_task("gmlp", Task::causal_lm);
  Trainer begun(*parts.model, *parts.data, options);
  CHECK(begun.step() == first);
  begun.save_state(folder / "state");
  SmallTask rest = small_task("gmlp", Task::causal_lm);
  Trainer resumed(*rest.model, *rest.data, options);
  resumed.load_state(folder / "state");
  for (int i = 1; i < 6; ++i) (void)resumed.step();
  CHECK(same_parameters(*whole.model, *rest.model));
  CHECK(contains(trainer.description(), "\"scale\": 0.5"));
  TrainOptions others = options;
  others.optimizer.own["scale"] = 0.25;
  SmallTask other = small_task("gmlp", Task::causal_lm);
  Trainer changed(*other.model, *other.data, others);
  CHECK_THROWS_WITH_AS(changed.load_state(folder / "state"), doctest::Contains("scale"), Error);
}

TEST_CASE("own optimizer: names that are taken, and kinds without an update") {
  CHECK_THROWS_WITH_AS(register_optimizer(signs("adamw")), doctest::Contains("\"adamw\" is taken"), Error);
  CHECK_THROWS_AS(register_optimizer(signs("")), Error);
  OptimizerKind none = signs("test's none");
  none.update = nullptr;
  CHECK_THROWS_AS(register_optimizer(none), Error);
  for (const char* name : {"clip", "step", "data", "", "scale"}) {
    OptimizerKind taken = signs("test's none");
    taken.own.push_back({name, 1, 0, 2, ""});
    CHECK_THROWS_WITH_AS(register_optimizer(taken), doctest::Contains("is taken"), Error);
  }
  OptimizerKind outside = signs("test's none");
  outside.own[0].usual = 100;
  CHECK_THROWS_WITH_AS(register_optimizer(outside), doctest::Contains("expected scale of 0.0 or more"), Error);
  const auto all = optimizers();
  CHECK(std::none_of(all.begin(), all.end(), [](const OptimizerInfo& info) { return info.name == "test's none"; }));
}

TEST_CASE("own optimizer: an option can't have the name of anything that a state contains") {
  const TemporaryFolder folder;
  SmallTask small = small_task("gmlp", Task::causal_lm);
  Trainer(*small.model, *small.data, small_options(2)).save_state(folder / "state");
  const auto state = nlohmann::json::parse(SafetensorsFile(folder / "state").metadata().at("weft-training"));
  std::vector<std::string> of_adamw;
  const OptimizerInfo adamw = optimizers().front();
  for (const OptimizerInfo::Option& option : adamw.own) of_adamw.push_back(option.name);
  for (const auto& entry : state.items()) {
    if (std::find(of_adamw.begin(), of_adamw.end(), entry.key()) != of_adamw.end()) continue;
    CAPTURE(entry.key());
    OptimizerKind taken = signs("test's none");
    taken.own.push_back({entry.key(), 1, 0, 2, ""});
    CHECK_THROWS_WITH_AS(register_optimizer(taken), doctest::Contains("is taken"), Error);
  }
}

TEST_CASE("own optimizer: ranges come with their parameters, and replacing a tensor is an error") {
  static std::vector<std::pair<std::string, std::int64_t>> seen;  // the optimizer stays registered
  OptimizerKind looks = signs("test's looks");
  looks.update = [](ParameterRange& range, const UpdateStep&) {
    for (const ParameterSet::Entry& entry : range.entries) {
      seen.emplace_back(entry.name, entry.offset);
      CHECK(entry.offset + entry.numel <= range.values.numel());
      CHECK(range.values.data<float>()[entry.offset] == raw::contiguous(entry.parameter.value()).data<float>()[0]);
    }
  };
  register_optimizer(looks);
  const NamedParameters parameters = {{"v", Parameter(Tensor::from<float>({1, 2}, {2}))},
                                      {"head.w", Parameter(Tensor::from<float>({3, 4}, {1, 2}))},
                                      {"w", Parameter(Tensor::from<float>({5}, {1, 1}))}};
  OptimizerOptions options{"test's looks"};
  options.groups = {{"head"}};
  Optimizer optimizer(parameters, options);
  optimizer.step(1, 1);
  CHECK(seen == std::vector<std::pair<std::string, std::int64_t>>{{"w", 0}, {"v", 16}, {"head.w", 0}});
  OptimizerKind replaces = signs("test's replaces");
  replaces.update = [](ParameterRange& range, const UpdateStep&) { range.values = scale(range.values, 0.5); };
  register_optimizer(replaces);
  Optimizer lost(parameters, {"test's replaces"});
  CHECK_THROWS_WITH_AS(lost.step(1, 1), doctest::Contains("replaced a tensor"), Error);
}

TEST_CASE("own groups: a run with the same groups resumes, one with other groups does not") {
  const TemporaryFolder folder;
  TrainOptions options = small_options(4);
  options.optimizer.groups = {{"embedding", 0.5}, {"blocks.0", 2, 0.0}};
  SmallTask whole = small_task("gmlp", Task::causal_lm), rest = small_task("gmlp", Task::causal_lm);
  Trainer trainer(*whole.model, *whole.data, options);
  (void)trainer.step();
  trainer.save_state(folder / "state");
  (void)trainer.step();
  Trainer resumed(*rest.model, *rest.data, options);
  resumed.load_state(folder / "state");
  (void)resumed.step();
  CHECK(same_parameters(*whole.model, *rest.model));
  for (const std::vector<ParameterGroup>& others :
       {std::vector<ParameterGroup>{}, {{"embedding", 0.5}}, {{"embedding", 0.25}, {"blocks.0", 2, 0.0}}}) {
    options.optimizer.groups = others;
    SmallTask other = small_task("gmlp", Task::causal_lm);
    Trainer changed(*other.model, *other.data, options);
    CHECK_THROWS_WITH_AS(changed.load_state(folder / "state"), doctest::Contains("groups"), Error);
  }
}

TEST_CASE("own schedule: its rates are used, and its name is part of the run") {
  const TemporaryFolder folder;
  TrainOptions options = small_options(4);
  std::vector<double> rates;
  options.schedule.own = {"halves", [](std::int64_t step) { return 1e-2 / static_cast<double>(1 << step); }};
  SmallTask small = small_task("fnet", Task::classifier);
  Trainer trainer(*small.model, *small.data, options);
  RunOptions run;
  run.progress = [&](const Progress& progress) {
    rates.push_back(progress.learning_rate);
    return true;
  };
  (void)trainer.run(run);
  CHECK(rates == std::vector<double>{5e-3, 2.5e-3, 1.25e-3, 6.25e-4});
  trainer.save_state(folder / "state");
  SmallTask again = small_task("fnet", Task::classifier);
  TrainOptions usual = small_options(4);
  Trainer other(*again.model, *again.data, usual);
  CHECK_THROWS_WITH_AS(other.load_state(folder / "state"), doctest::Contains("\"halves\""), Error);
  SmallTask same = small_task("fnet", Task::classifier);
  Trainer resumed(*same.model, *same.data, options);
  resumed.load_state(folder / "state");
  CHECK(resumed.steps_done() == 4);
}

TEST_CASE("own schedule: it needs a name and finite rates, and an error changes nothing") {
  SmallTask small = small_task("fnet", Task::classifier);
  TrainOptions options = small_options(4);
  for (const char* name : {"", "cosine"}) {
    options.schedule.own = {name, [](std::int64_t) { return 1e-3; }};
    CHECK_THROWS_WITH_AS(Trainer(*small.model, *small.data, options),
                         doctest::Contains("a name that no other schedule has"), Error);
  }
  options.schedule.own = {"breaks", [](std::int64_t step) { return step == 2 ? std::nan("") : 1e-3; }};
  Trainer trainer(*small.model, *small.data, options);
  (void)trainer.step();
  CHECK_THROWS_WITH_AS((void)trainer.step(), doctest::Contains("step 2: the learning rate of schedule \"breaks\""),
                       Error);
  CHECK(trainer.steps_done() == 1);
}

}  // namespace weft::test
