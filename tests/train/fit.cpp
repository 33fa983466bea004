// Tests of fit: models of rows in memory, the number of steps, and invalid arguments.
#include "weft/fit.h"

#include <doctest/doctest.h>

#include <cmath>
#include <functional>

#include "temporary_folder.h"
#include "weft/checkpoint.h"
#include "weft/split.h"

namespace weft::test {
namespace {

LabeledTexts colors(std::int64_t rows) {
  LabeledTexts all;
  all.names = {"red", "green"};
  for (std::int64_t i = 0; i < rows; ++i) {
    all.texts.push_back((i % 2 == 0 ? "a red box " : "a green box ") + std::to_string(i));
    all.labels.push_back(i % 2);
  }
  return all;
}

FitOptions small_fit(Task task = Task::classifier) {
  FitOptions options;
  options.arch = "gmlp";
  options.task = task;
  options.config = R"({"d_model":8,"layers":1,"seq_len":6})";
  options.batch = 4;
  return options;
}

// Returns the planned number of steps of a run that is stopped after its first step.
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

TEST_CASE("fit: the number of steps is the same as for weft train") {
  FitOptions options = small_fit();
  CHECK(planned_steps(20, options) == 500);     // 100 epochs, which is less than 1000 steps
  CHECK(planned_steps(60, options) == 1000);    // more than 5 epochs, which are 75 steps
  CHECK(planned_steps(1201, options) == 1505);  // 5 epochs of 301 steps
  options.epochs = 2.5;
  CHECK(planned_steps(20, options) == 13);
  options.epochs = 1e-9;
  CHECK(planned_steps(20, options) == 1);
  options.steps = 7;
  CHECK_THROWS_WITH_AS((void)planned_steps(20, options), "[fit] expected steps or epochs, got both", Error);
  options.epochs = {};
  CHECK(planned_steps(20, options) == 7);
}

TEST_CASE("fit: a saved run for each task") {
  const TemporaryFolder folder;
  const auto trained = [&](LabeledTexts rows, Task task) {
    FitOptions options = small_fit(task);
    options.steps = 3;
    RunOptions run;
    run.folder = folder / task_name(task);
    run.eval_every = 0;
    LabeledTexts held = rows;
    CHECK(fit(std::move(rows), std::move(held), options, run).stopped == false);
    return load_checkpoint(run.folder, Purpose::inference);
  };
  CHECK(trained(colors(12), Task::classifier).info.labels == std::vector<std::string>{"red", "green"});
  LabeledTexts numbers = colors(12), several = colors(12), words = colors(12);
  numbers.names = {"1.5 2", "3 -4"};
  several.names = {"a|b", "b"};
  CHECK(trained(numbers, Task::regression).model->outputs() == 2);
  CHECK(trained(several, Task::multilabel).info.labels == std::vector<std::string>{"a", "b"});
  words.names = {"x y z w", "y y z w"};
  CHECK(trained(words, Task::tagging).info.labels.size() == 4);
  CHECK(trained(words, Task::retrieval).model->outputs() == 128);
}

TEST_CASE("labeled_rows: names in the order of files, and invalid labels") {
  CHECK(labeled_rows({"a", "b", "c"}, {"10", "9", "10"}).names == std::vector<std::string>{"9", "10"});
  const LabeledTexts rows = labeled_rows({"a", "b", "c"}, {"x", " b ", "x"});
  CHECK(rows.names == std::vector<std::string>{"b", "x"});
  CHECK(rows.labels == std::vector<std::int64_t>{1, 0, 1});
  CHECK(rows.texts == std::vector<std::string>{"a", "b", "c"});
  LabeledOptions known, texts;
  known.labels = {"x", "b"};
  texts.labels_are_texts = true;
  CHECK(labeled_rows({"a"}, {"b"}, known).labels == std::vector<std::int64_t>{1});
  CHECK(labeled_rows({"a"}, {"two\nlines"}, texts).names == std::vector<std::string>{"two lines"});
  CHECK_THROWS_WITH_AS(labeled_rows({"a", "b"}, {"x", "y"}, known), doctest::Contains("row 2: the label is \"y\""),
                       Error);
  CHECK_THROWS_WITH_AS(labeled_rows({"a"}, {""}), doctest::Contains("row 1: the label is empty"), Error);
  CHECK_THROWS_WITH_AS(labeled_rows({"a"}, {"x\ny"}), doctest::Contains("control character"), Error);
  CHECK_THROWS_WITH_AS(labeled_rows({"a", "b"}, {"x"}), doctest::Contains("a label for each of 2 rows, got 1"), Error);
  CHECK_THROWS_WITH_AS(labeled_rows({}, {}), doctest::Contains("has no rows"), Error);
}

TEST_CASE("fit: options that have no effect on the rows are refused") {
  const auto refused = [](const std::function<void(FitOptions&)>& change) {
    FitOptions options = small_fit();
    options.steps = 1;
    change(options);
    (void)fit(colors(8), colors(4), options, {});
  };
  CHECK_THROWS_WITH_AS(refused([](FitOptions& o) { o.patch = 2; }),
                       "[fit] patch is for pictures, but the data are texts", Error);
  CHECK_THROWS_AS(refused([](FitOptions& o) { o.augmentation.shift = 1; }), Error);
  CHECK_THROWS_AS(refused([](FitOptions& o) { o.augmentation.flips = true; }), Error);
  LabeledTexts frames = colors(8);
  frames.channels = 1;
  frames.texts.assign(8, std::string(8, '\0'));
  FitOptions options = small_fit();
  options.tokenizer = "words";
  CHECK_THROWS_WITH_AS((void)fit(frames, frames, options, {}),
                       doctest::Contains("a tokenizer is for texts, but the data are frames"), Error);
  options = small_fit(Task::retrieval);
  options.balance = "rows";
  CHECK_THROWS_WITH_AS((void)fit(colors(8), colors(4), options, {}), doctest::Contains("does not support balancing"),
                       Error);
  options = small_fit(Task::multilabel);
  options.balance = "weights";
  CHECK_THROWS_WITH_AS((void)fit(colors(8), colors(4), options, {}),
                       doctest::Contains("the task multilabel does not support balancing"), Error);
}

TEST_CASE("fit: the batch and the augmentation reach the data of rows") {
  LabeledTexts pictures = colors(8);
  pictures.picture = {2, 4, 1};
  for (std::size_t i = 0; i < pictures.texts.size(); ++i) {
    pictures.texts[i].assign(8, '\0');
    pictures.texts[i][i % 8] = '\x7f';
  }
  const auto loss = [&](const auto& change) {
    FitOptions options = small_fit();
    options.config = R"({"d_model":8,"layers":1,"seq_len":8})";
    options.patch = 1;
    options.steps = 3;
    change(options);
    return fit(pictures, pictures, options, {}).evaluation->loss;
  };
  const double usual = loss([](FitOptions&) {});
  CHECK(loss([](FitOptions&) {}) == usual);
  CHECK(loss([](FitOptions& o) { o.batch = 2; }) != usual);
  CHECK(loss([](FitOptions& o) { o.augmentation.flips = true; }) != usual);
  CHECK(loss([](FitOptions& o) { o.augmentation.shift = 1; }) != usual);
}

TEST_CASE("fit: the default learning rate depends on the data and the optimizer") {
  CHECK(usual_rate(Source::rows, "adamw", ScheduleKind::cosine) == doctest::Approx(1e-3));
  CHECK(usual_rate(Source::text, "adamw", ScheduleKind::linear) == doctest::Approx(2e-3));
  CHECK(usual_rate(Source::rows, "lion", ScheduleKind::cosine) == doctest::Approx(1e-4));
  CHECK(usual_rate(Source::text, "lion", ScheduleKind::noam) == 1);
  std::string text;
  for (int i = 0; i < 100; ++i) text += "abcd ";
  const auto loss = [&](std::optional<double> lr) {
    FitOptions options = small_fit(Task::causal_lm);
    options.steps = 20;
    options.optimizer.name = "lion";
    options.lr = lr;
    return fit(text, {80, 20}, options, {}).evaluation->loss;
  };
  CHECK(loss({}) == loss(2e-4));
  CHECK(loss({}) != loss(2e-3));
}

TEST_CASE("fit: a language model of a text") {
  std::string text;
  for (int i = 0; i < 400; ++i) text += "abc ";
  FitOptions options = small_fit(Task::causal_lm);
  options.steps = 300;
  options.lr = 1e-2;
  const TemporaryFolder folder;
  RunOptions run;
  run.folder = folder / "run";
  const RunResult result = fit(text, {80, 20}, options, run);
  CHECK(result.evaluation->loss < 0.5);  // the next character is determined; the initial loss is log 4 = 1.4
  const Checkpoint saved = load_checkpoint(folder / "run");
  CHECK(saved.model->task() == Task::causal_lm);
  CHECK(saved.tokenizer->size() == 5);  // including the unknown symbol
  CHECK(saved.info.length == 6);
  options.task = Task::masked_lm;
  options.tokenizer = "bytes";
  options.steps = 1;
  (void)fit(text, {80, 20}, options, {});

  std::int64_t steps = 0;
  run.folder.clear();
  run.progress = [&](const Progress& progress) {
    steps = progress.steps;
    return false;
  };
  options.steps = {};
  (void)fit(text, {80, 20}, options, run);
  CHECK(steps == 2000);  // 1280 characters give 54 batches of 4 windows of 6
  options.epochs = 2;
  (void)fit(text, {80, 20}, options, run);
  CHECK(steps == 108);

  CHECK_THROWS_WITH_AS((void)fit(text, {80, 20}, small_fit(), {}),
                       doctest::Contains("causal-lm or masked-lm, got class"), Error);
  options.patch = 2;
  CHECK_THROWS_WITH_AS((void)fit(text, {80, 20}, options, {}), doctest::Contains("patch is for pictures"), Error);
  CHECK_THROWS_AS((void)fit("ab", {80, 20}, small_fit(Task::causal_lm), {}), Error);
}

TEST_CASE("fit: a forecast of a series") {
  Series series;
  series.names = {"wave", "noise"};
  series.columns.resize(2);
  for (int i = 0; i < 300; ++i) {
    series.columns[0].push_back(static_cast<float>(10 + 3 * std::sin(i * 0.7)));
    series.columns[1].push_back(static_cast<float>(i * 7919 % 13));
  }
  ForecastOptions forecast;
  forecast.frames = series.names;
  forecast.targets = {"wave"};
  forecast.horizon = 2;
  FitOptions options = small_fit(Task::forecast);
  options.length = 6;
  options.steps = 600;
  options.lr = 1e-2;
  const TemporaryFolder folder;
  RunOptions run;
  run.folder = folder / "run";
  const RunResult result = fit(series, forecast, {80, 20}, options, run);
  CHECK(result.evaluation->loss < 0.1);  // the targets have variance 1
  const Checkpoint saved = load_checkpoint(folder / "run");
  CHECK(saved.info.labels == std::vector<std::string>{"wave+1", "wave+2"});
  CHECK(saved.info.length == 6);
  CHECK(saved.model->input().names == series.names);

  CHECK_THROWS_WITH_AS((void)fit(series, forecast, {80, 20}, small_fit(), {}),
                       doctest::Contains("expected the task forecast for a series, got classifier"), Error);
  options.tokenizer = "words";
  CHECK_THROWS_WITH_AS((void)fit(series, forecast, {80, 20}, options, {}),
                       doctest::Contains("a tokenizer is for texts"), Error);
}

TEST_CASE("fit: invalid arguments are refused") {
  const auto refused = [](const std::function<void(FitOptions&)>& change) {
    FitOptions options = small_fit();
    options.steps = 1;
    change(options);
    (void)fit(colors(8), colors(4), options, {});
  };
  CHECK_THROWS_WITH_AS(refused([](FitOptions& o) { o.task = Task::causal_lm; }),
                       doctest::Contains("expected a task that learns from rows"), Error);
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
