// fit: models of rows in memory; the number of steps; what is refused.
#include "weft/fit.h"

#include <doctest/doctest.h>

#include <cmath>
#include <functional>

#include "temporary_folder.h"
#include "weft/checkpoint.h"
#include "weft/split.h"

namespace weft::test {
namespace {

LabelledTexts colors(std::int64_t rows) {
  LabelledTexts all;
  all.names = {"red", "green"};
  for (std::int64_t i = 0; i < rows; ++i) {
    all.texts.push_back((i % 2 == 0 ? "a red box " : "a green box ") + std::to_string(i));
    all.labels.push_back(i % 2);
  }
  return all;
}

FitOptions small(Task task = Task::classifier) {
  FitOptions options;
  options.arch = "gmlp";
  options.task = task;
  options.config = R"({"d_model":8,"layers":1,"seq_len":6})";
  options.batch = 4;
  return options;
}

// The steps of a run that is stopped after its first one.
std::int64_t planned_steps(std::int64_t rows, const FitOptions& options) {
  std::int64_t steps = 0;
  RunOptions run;
  run.progress = [&](const Progress& progress) {
    steps = progress.steps;
    return false;
  };
  (void)fit(colors(rows), colors(4), options, run);
  return steps;
}

}  // namespace

TEST_CASE("fit: the number of steps is that of weft train") {
  FitOptions options = small();
  CHECK(planned_steps(20, options) == 500);     // 100 epochs, which are less than 1000 steps
  CHECK(planned_steps(60, options) == 1000);    // more than 5 epochs, which are 75 steps
  CHECK(planned_steps(1201, options) == 1505);  // 5 epochs of 301 steps
  options.epochs = 2.5;
  CHECK(planned_steps(20, options) == 13);
  options.epochs = 1e-9;
  CHECK(planned_steps(20, options) == 1);
  options.steps = 7;
  CHECK(planned_steps(20, options) == 7);
}

TEST_CASE("fit: a saved run for each task") {
  const TemporaryFolder folder;
  const auto trained = [&](LabelledTexts rows, Task task) {
    FitOptions options = small(task);
    options.steps = 3;
    RunOptions run;
    run.folder = folder / task_name(task);
    run.eval_every = 0;
    LabelledTexts held = rows;
    CHECK(fit(std::move(rows), std::move(held), options, run).stopped == false);
    return load_checkpoint(run.folder, Purpose::inference);
  };
  CHECK(trained(colors(12), Task::classifier).info.labels == std::vector<std::string>{"red", "green"});
  LabelledTexts numbers = colors(12), several = colors(12), words = colors(12);
  numbers.names = {"1.5 2", "3 -4"};
  several.names = {"a|b", "b"};
  CHECK(trained(numbers, Task::regression).model->outputs() == 2);
  CHECK(trained(several, Task::multilabel).info.labels == std::vector<std::string>{"a", "b"});
  words.names = {"x y z w", "y y z w"};
  CHECK(trained(words, Task::tagging).info.labels.size() == 4);
  CHECK(trained(words, Task::retrieval).model->outputs() == 128);
}

TEST_CASE("fit: what is refused") {
  const auto refused = [](const std::function<void(FitOptions&)>& change) {
    FitOptions options = small();
    options.steps = 1;
    change(options);
    (void)fit(colors(8), colors(4), options, {});
  };
  CHECK_THROWS_WITH_AS(refused([](FitOptions& o) { o.task = Task::causal_lm; }),
                       doctest::Contains("expected a task on rows"), Error);
  CHECK_THROWS_AS(refused([](FitOptions& o) { o.task = Task::forecast; }), Error);
  CHECK_THROWS_AS(refused([](FitOptions& o) { o.arch = "none"; }), Error);
  CHECK_THROWS_AS(refused([](FitOptions& o) { o.balance = "none of these"; }), Error);
  CHECK_THROWS_AS(refused([](FitOptions& o) { o.precision = "f16"; }), Error);
  CHECK_THROWS_AS(refused([](FitOptions& o) { o.schedule = "steep"; }), Error);
  for (const double epochs : {0.0, -3.0, std::nan("")})
    CHECK_THROWS_WITH_AS(refused([&](FitOptions& o) {
                           o.steps = {};
                           o.epochs = epochs;
                         }),
                         doctest::Contains("expected epochs above 0"), Error);
  CHECK_THROWS_WITH_AS(refused([](FitOptions& o) {
                         o.steps = {};
                         o.batch = 0;
                       }),
                       doctest::Contains("expected a batch of at least 1 row, got 0"), Error);
}

}  // namespace weft::test
