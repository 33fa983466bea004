// Tests of the moving average of parameters: its values, where it is used, and that it does not affect training.
#include <doctest/doctest.h>

#include "contains.h"
#include "same_parameters.h"
#include "temporary_folder.h"
#include "train_support.h"
#include "weft/checkpoint.h"
#include "weft/trainer.h"

namespace weft::test {
namespace {

std::vector<double> values_of(const Model& model) {
  std::vector<double> all;
  for (const auto& [name, parameter] : model.parameters())
    for (double v : raw::convert(parameter.value(), DType::f64).to_vector<double>()) all.push_back(v);
  return all;
}

TrainOptions with_ema(std::int64_t steps, double decay) {
  TrainOptions options = small_options(steps);
  options.ema = decay;
  return options;
}

void check_near(const std::vector<double>& got, const std::vector<double>& want) {
  REQUIRE(got.size() == want.size());
  double worst = 0;
  for (std::size_t i = 0; i < got.size(); ++i) worst = std::max(worst, std::abs(got[i] - want[i]));
  CHECK(worst < 1e-6);
}

}  // namespace

TEST_CASE("ema: the average over all steps follows its formula") {
  SmallTask small = small_task("gmlp", Task::classifier);
  Trainer trainer(*small.model, *small.data, with_ema(30, 0.6));
  std::vector<double> want = values_of(*small.model), got;
  for (int t = 1; t <= 12; ++t) {
    (void)trainer.step();
    const std::vector<double> now = values_of(*small.model);
    const double decay = std::min(0.6, (1.0 + t) / (10.0 + t));
    for (std::size_t i = 0; i < now.size(); ++i) want[i] = decay * want[i] + (1 - decay) * now[i];
    trainer.with_average([&] { got = values_of(*small.model); });
    check_near(got, want);
    CHECK(values_of(*small.model) == now);
  }
  CHECK(got != values_of(*small.model));
}

TEST_CASE("ema: parameters that don't change equal their average, for any decay") {
  for (const double decay : {0.9, 0.9999, 0.99999}) {
    SmallTask small = small_task("gmlp", Task::classifier);
    TrainOptions options = with_ema(200, decay);
    options.schedule.peak = 1e-30;
    options.optimizer.weight_decay = 0;
    Trainer trainer(*small.model, *small.data, options);
    for (int t = 1; t <= 50; ++t) (void)trainer.step();
    const std::vector<double> now = values_of(*small.model);
    trainer.with_average([&] {
      const std::vector<double> average = values_of(*small.model);
      for (std::size_t i = 0; i < now.size(); ++i) CHECK(std::abs(average[i] - now[i]) < 1e-20);
    });
  }
}

TEST_CASE("ema: while the model has the average, nested calls see it, and steps and states are refused") {
  const TemporaryFolder folder;
  SmallTask small = small_task("gmlp", Task::classifier);
  Trainer trainer(*small.model, *small.data, with_ema(9, 0.9));
  for (int t = 1; t <= 3; ++t) (void)trainer.step();
  trainer.save_state(folder / "state");
  const std::vector<double> before = values_of(*small.model);
  trainer.with_average([&] {
    const std::vector<double> average = values_of(*small.model);
    CHECK(average != before);
    trainer.with_average([&] { CHECK(values_of(*small.model) == average); });
    CHECK(values_of(*small.model) == average);
    CHECK_THROWS_WITH_AS((void)trainer.step(), doctest::Contains("moving average"), Error);
    CHECK_THROWS_WITH_AS(trainer.save_state(folder / "other"), doctest::Contains("moving average"), Error);
    CHECK_THROWS_WITH_AS(trainer.load_state(folder / "state"), doctest::Contains("moving average"), Error);
  });
  CHECK(values_of(*small.model) == before);
  CHECK_THROWS_AS(trainer.with_average([] { throw Error("stop"); }), Error);
  CHECK(values_of(*small.model) == before);
}

TEST_CASE("ema: training takes the same steps with and without it") {
  SmallTask with = small_task("tnn", Task::causal_lm), without = small_task("tnn", Task::causal_lm);
  Trainer averaged(*with.model, *with.data, with_ema(8, 0.9)), plain(*without.model, *without.data, small_options(8));
  RunOptions run;
  run.eval_every = 3;
  (void)averaged.run(run);
  (void)plain.run(run);
  CHECK(same_parameters(*with.model, *without.model));
}

TEST_CASE("ema: evaluations and checkpoints use the average, and a resumed run gives the same bits") {
  const TemporaryFolder folder;
  SmallTask small = small_task("gmlp", Task::classifier);
  Trainer trainer(*small.model, *small.data, with_ema(10, 0.9));
  RunOptions run;
  run.folder = folder / "whole";
  run.eval_every = 4;
  const RunResult result = trainer.run(run);
  const Checkpoint last = load_checkpoint(last_path(run.folder));
  std::vector<double> average;
  double loss = 0;
  trainer.with_average([&] {
    average = values_of(*small.model);
    loss = evaluate(*small.model, *small.data).loss;
  });
  CHECK(values_of(*last.model) == average);
  CHECK(result.evaluation->loss == loss);
  CHECK(evaluate(*small.model, *small.data).loss != loss);
  CHECK(trainer.is_saved_as(last));

  SmallTask first = small_task("gmlp", Task::classifier), second = small_task("gmlp", Task::classifier);
  RunOptions stopped;
  stopped.folder = folder / "parts";
  stopped.eval_every = 4;
  stopped.progress = [](const Progress& progress) { return progress.step < 5; };
  {
    Trainer begun(*first.model, *first.data, with_ema(10, 0.9));
    CHECK(begun.run(stopped).stopped);
  }
  Trainer resumed(*second.model, *second.data, with_ema(10, 0.9));
  resumed.load_state(state_path(stopped.folder));
  stopped.progress = nullptr;
  (void)resumed.run(stopped);
  CHECK(same_parameters(*load_checkpoint(last_path(stopped.folder)).model, *last.model));
  CHECK(same_parameters(*second.model, *small.model));
}

TEST_CASE("ema: a state belongs to a run with the same decay, and invalid decays") {
  const TemporaryFolder folder;
  SmallTask small = small_task("fnet", Task::classifier);
  {
    Trainer trainer(*small.model, *small.data, with_ema(3, 0.9));
    (void)trainer.step();
    trainer.save_state(folder / "state");
  }
  for (double decay : {0.0, 0.5}) {
    SmallTask other = small_task("fnet", Task::classifier);
    Trainer trainer(*other.model, *other.data, with_ema(3, decay));
    CHECK_THROWS_WITH_AS(trainer.load_state(folder / "state"), doctest::Contains("ema 0.9"), Error);
  }
  for (double bad : {-0.1, 1.0, std::nan("")})
    CHECK_THROWS_WITH_AS(Trainer(*small.model, *small.data, with_ema(3, bad)), doctest::Contains("moving average"),
                         Error);
}

TEST_CASE("ema: a state that an evaluation's callback saves contains the parameters, not the average") {
  const TemporaryFolder folder;
  SmallTask small = small_task("gmlp", Task::classifier);
  Trainer trainer(*small.model, *small.data, with_ema(6, 0.9));
  RunOptions run;
  run.eval_every = 3;
  run.evaluated = [&](std::int64_t step, const Evaluation&) {
    if (step == 3) trainer.save_state(folder / "state");
  };
  (void)trainer.run(run);
  SmallTask again = small_task("gmlp", Task::classifier);
  Trainer resumed(*again.model, *again.data, with_ema(6, 0.9));
  resumed.load_state(folder / "state");
  (void)resumed.run({});
  CHECK(same_parameters(*again.model, *small.model));
}

}  // namespace weft::test
