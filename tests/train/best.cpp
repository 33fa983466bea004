// Tests which checkpoint is a run's best one, and the test at the end of a run.
#include <doctest/doctest.h>

#include <iterator>
#include <nlohmann/json.hpp>
#include <sstream>

#include "scripted_data.h"
#include "temporary_folder.h"
#include "train_support.h"
#include "weft/checkpoint.h"
#include "weft/run_folder.h"
#include "weft/split.h"

namespace weft::test {
namespace {

RunOptions best_into(const std::string& folder, const std::string& best_by) {
  RunOptions run;
  run.folder = folder;
  run.eval_every = 2;
  run.best_by = best_by;
  return run;
}

}  // namespace

TEST_CASE(
    "best by a metric: the highest, among equals the one with the lower loss, then the first; patience counts the "
    "same") {
  const Script script[] = {{3, 0.5}, {4, 0.75}, {2, 0.75}, {1, 0.25}, {2, 0.75}, {1.5, 0.7}};
  for (const std::string best_by : {"loss", "right", ""}) {
    CAPTURE(best_by);
    const TemporaryFolder folder;
    const ScriptedData data({std::begin(script), std::end(script)});
    const auto model = small_gmlp();
    Trainer trainer(*model, data, small_options(12));
    RunOptions run = best_into(folder / "run", best_by);
    run.patience = best_by == "right" ? 3 : 0;
    const RunResult result = trainer.run(run);
    CHECK(trainer.best()->step == (best_by == "right" ? 6 : 8));
    CHECK(trainer.best()->loss == (best_by == "right" ? 2 : 1));
    CHECK(trainer.best()->metric == (best_by == "right" ? 0.75 : 0));
    CHECK(trainer.best_by() == (best_by == "right" ? "right" : "loss"));
    CHECK(load_checkpoint(folder / "run").info.step == trainer.best()->step);
    CHECK(trainer.steps_done() == 12);
    CHECK_FALSE(result.out_of_patience);  // the third evaluation comes after the last step
  }
}

TEST_CASE("best by a metric: patience ends the run if no metric is higher") {
  const TemporaryFolder folder;
  const ScriptedData data({Script(3, 0.5), Script(2, 0.4), Script(1, 0.3)});
  const auto model = small_gmlp();
  Trainer trainer(*model, data, small_options(12));
  RunOptions run = best_into(folder / "run", "right");
  run.patience = 2;
  CHECK(trainer.run(run).out_of_patience);
  CHECK(trainer.steps_done() == 6);
}

TEST_CASE("best by a metric: the state records the metric and its best value") {
  const TemporaryFolder folder;
  {
    const ScriptedData data({Script(3, 0.5), Script(2, 0.25)});
    const auto model = small_gmlp();
    Trainer trainer(*model, data, small_options(8));
    RunOptions run = best_into(folder / "run", "right");
    run.progress = [](const Progress& p) { return p.step < 5; };
    CHECK(trainer.run(run).stopped);
  }
  for (const std::string best_by : {"", "right"}) {
    CAPTURE(best_by);
    const ScriptedData data({Script(4, 0.5), Script(1, 0.4)});
    const auto model = small_gmlp();
    Trainer trainer(*model, data, small_options(8));
    trainer.load_state(state_path(folder / "run"));
    CHECK(trainer.best_by() == "right");
    CHECK(trainer.best()->metric == 0.5);
    RunOptions run = best_into("", best_by);
    trainer.run(run);
    CHECK(trainer.best()->step == 2);
  }
  const ScriptedData data({Script(4, 0.5)});
  const auto model = small_gmlp();
  Trainer trainer(*model, data, small_options(8));
  trainer.load_state(state_path(folder / "run"));
  CHECK_THROWS_WITH((void)trainer.run(best_into("", "loss")),
                    "[train] expected the best checkpoint to be chosen by right, as earlier in this run, got loss");
}

TEST_CASE("best by a metric that isn't measured is an error before the first step") {
  const ScriptedData scripted({Script(4, 0.5)});
  const auto model = small_gmlp();
  Trainer trainer(*model, scripted, small_options(8));
  CHECK_THROWS_WITH((void)trainer.run(best_into("", "accuracy")),
                    "[train] expected the best checkpoint to be chosen by one of loss, right, got accuracy");
  CHECK(trainer.steps_done() == 0);
  const SmallTask text = small_task("gmlp", Task::causal_lm), rows = small_task("gmlp", Task::classifier);
  Trainer of_text(*text.model, *text.data, small_options(8));
  CHECK_THROWS_WITH((void)of_text.run(best_into("", "accuracy")),
                    "[train] expected the best checkpoint to be chosen by one of loss, got accuracy");
  TrainOptions options = small_options(60);
  options.schedule.peak = 5e-3;
  Trainer of_rows(*rows.model, *rows.data, options);
  (void)of_rows.run(best_into("", "macro F1"));
  CHECK(of_rows.best()->metric == 1);
}

TEST_CASE("a run's test measures the best checkpoint at the end of the run, with the same result as evaluating it") {
  const TemporaryFolder folder;
  const SmallTask small = small_task("gmlp", Task::classifier);
  LabeledTexts rows = small_rows();
  const LabeledTexts held = hold_out(rows, 0.3, 1);
  const ClassifierData test({}, held, small.data->tokenizer(), 16, 4, Padding::full);
  {
    Trainer trainer(*small.model, *small.data, small_options(6));
    (void)trainer.run(best_into(folder / "run", ""));
  }
  CHECK_FALSE(is_tested(folder / "run"));
  const std::string before = folder.read("run/metrics.jsonl");
  {
    RunFolder run(folder / "run");
    CHECK_FALSE(test_run(run, test, [] { return true; }).has_value());
    CHECK(folder.read("run/metrics.jsonl") == before);
    const TestResult result = *test_run(run, test);
    const Checkpoint best = load_checkpoint(folder / "run/best");
    CHECK(result.step == best.info.step);
    const Evaluation expected = evaluate(*best.model, test);
    CHECK(result.evaluation.loss == expected.loss);
    CHECK(result.evaluation.metric("macro F1") == expected.metric("macro F1"));
    CHECK(result.evaluation.confusion->counts() == expected.confusion->counts());
    const nlohmann::json line = metrics_of(folder, "run").back();
    CHECK(line["step"] == best.info.step);
    CHECK(line["test_loss"] == expected.loss);
    CHECK(line["accuracy"] == expected.metric("accuracy"));
    CHECK(line["macro F1"] == expected.metric("macro F1"));
    CHECK(line["predicted"] == 18);
    CHECK(folder.read("run/metrics.jsonl").rfind(before, 0) == 0);
    CHECK_THROWS_WITH((void)test_run(run, *small_task("gmlp", Task::causal_lm).data),
                      doctest::Contains("has a different task or tokenizer than the data"));
  }
  CHECK(is_tested(folder / "run"));
  CHECK_FALSE(is_tested(folder / "none"));
  // A run that is continued has not been tested yet.
  const SmallTask same = small_task("gmlp", Task::classifier);
  Trainer trainer(*same.model, *same.data, small_options(8));
  trainer.load_state(state_path(folder / "run"));
  (void)trainer.run(best_into(folder / "run", ""));
  CHECK_FALSE(is_tested(folder / "run"));
  CHECK(folder.read("run/metrics.jsonl").rfind(before, 0) == 0);
}

}  // namespace weft::test
