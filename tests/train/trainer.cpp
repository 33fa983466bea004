#include "weft/trainer.h"

#include <doctest/doctest.h>

#include <cmath>
#include <memory>

#include "sweep.h"
#include "temporary_folder.h"
#include "train_support.h"
#include "weft/checkpoint.h"
#include "weft/context.h"

namespace weft::test {
namespace {

struct Files {
  std::string model, state, config;
  bool operator==(const Files& o) const { return model == o.model && state == o.state && config == o.config; }
};

Files files_of(const TemporaryFolder& folder) {
  const auto file = [&](const char* name) { return folder.read(std::string("run/last/") + name); };
  return {file("model.safetensors"), file("training.safetensors"), file("config.json")};
}

// Trains a new model and returns the files of the checkpoint. If `stop_at` is set, stops after that step and continues
// with another trainer.
Files train(const std::string& arch, Task task, std::int64_t steps, std::int64_t stop_at = 0, const Sizes& sizes = {}) {
  const TemporaryFolder folder;
  RunOptions run;
  run.folder = folder / "run";
  if (stop_at > 0) {
    const SmallTask small = small_task(arch, task, sizes);
    Trainer trainer(*small.model, *small.data, small_options(steps));
    run.progress = [&](const Progress& p) { return p.step < stop_at; };
    CHECK(trainer.run(run).stopped);
    CHECK(trainer.steps_done() == stop_at);
    CHECK(load_checkpoint(run.folder).info.step == stop_at);
  }
  const SmallTask small = small_task(arch, task, sizes);
  Trainer trainer(*small.model, *small.data, small_options(steps));
  if (stop_at > 0) trainer.load_state(state_path(run.folder));
  run.progress = nullptr;
  const RunResult result = trainer.run(run);
  CHECK(trainer.steps_done() == steps);
  CHECK_FALSE(result.stopped);
  CHECK(std::isfinite(result.evaluation->loss));
  return files_of(folder);
}

// Runs the members of a team one after the other, starting with the last.
class Backwards : public Executor {
 public:
  void run(int count, FunctionRef<void(int)> task) override {
    ++loops;
    while (count > 0) task(--count);
  }
  int loops = 0;
};

}  // namespace

TEST_CASE("20 training steps: the same bytes with 1, 2, 3 and 8 threads") {
  for (const std::string& arch : own_architectures)
    for (Task task : {usual_task(arch), Task::classifier}) {
      CAPTURE(arch);
      CAPTURE(task_name(task));
      Files first;
      for (int threads : {1, 3, 2, 8}) {
        if (threads == sweep(0, 2)) break;
        Context context;
        context.set_threads(threads);
        const ContextScope scope(context);
        const Files files = train(arch, task, 20);
        if (threads == 1) first = files;
        CHECK(files == first);
      }
    }
}

TEST_CASE("training with work that threads share: the same bytes with 1, 2, 3 and 8 threads") {
  for (const std::string& arch : own_architectures) {
    CAPTURE(arch);
    Files first;
    for (int threads : {1, 3, 2, 8}) {
      if (threads == sweep(0, 2)) break;
      Context context;
      context.set_threads(threads);
      const ContextScope scope(context);
      const auto executor = std::make_shared<Backwards>();
      for (const std::shared_ptr<Executor>& threads_from :
           {std::shared_ptr<Executor>(), std::shared_ptr<Executor>(executor)}) {
        context.set_executor(threads_from);
        const Files files = train(arch, usual_task(arch), 2, 0, {64, 64, 8});
        if (threads == 1 && !threads_from) first = files;
        CHECK(files == first);
      }
      CHECK((executor->loops > 20) == (threads > 1));
    }
  }
}

TEST_CASE("training that was stopped and resumed gives the same bytes") {
  for (const std::string& arch : own_architectures) {
    CAPTURE(arch);
    CHECK(train(arch, usual_task(arch), 9) == train(arch, usual_task(arch), 9, 4));
  }
}

TEST_CASE("training reduces the loss, and a checkpoint records the loss that evaluation gives") {
  for (const std::string& arch : own_architectures) {
    CAPTURE(arch);
    const TemporaryFolder folder;
    const SmallTask small = small_task(arch, usual_task(arch));
    TrainOptions options = small_options(60);
    options.schedule.peak = 5e-3;
    Trainer trainer(*small.model, *small.data, options);
    const double before = evaluate(*small.model, *small.data).loss;
    RunOptions run;
    run.folder = folder / "run";
    const RunResult result = trainer.run(run);
    CHECK(result.evaluation->loss < before - 0.2);
    const Checkpoint saved = load_checkpoint(run.folder);
    CHECK(evaluate(*saved.model, *small.data).loss == result.evaluation->loss);
    CHECK(*saved.info.validation_loss == result.evaluation->loss);
    CHECK(saved.info.step == 60);
    CHECK(saved.info.length == 16);
  }
}

TEST_CASE("progress of each step, and a request to stop after the last step has no effect") {
  const TemporaryFolder folder;
  const SmallTask small = small_task("gmlp", Task::causal_lm), same = small_task("gmlp", Task::causal_lm);
  const TrainOptions options = small_options(7);
  Trainer trainer(*small.model, *small.data, options), by_hand(*same.model, *same.data, options);
  RunOptions run;
  run.eval_every = 3;
  run.folder = folder / "run";
  std::int64_t calls = 0;
  run.progress = [&](const Progress& p) {
    CHECK(p.step == ++calls);
    CHECK(p.steps == 7);
    CHECK(p.loss == by_hand.step());
    CHECK(p.learning_rate == options.schedule(p.step));
    CHECK(p.tokens_per_second > 0);
    CHECK((p.seconds_left > 0) == (p.step < 7));
    return p.step < 7;
  };
  std::vector<std::int64_t> evaluated;
  run.evaluated = [&](std::int64_t step, const Evaluation& evaluation) {
    evaluated.push_back(step);
    CHECK(step == calls);
    CHECK(evaluation.loss == evaluate(*same.model, *same.data).loss);
    CHECK(load_checkpoint(last_path(run.folder)).info.step == step);
  };
  const RunResult result = trainer.run(run);
  CHECK(calls == 7);
  CHECK(evaluated == std::vector<std::int64_t>{3, 6, 7});
  CHECK_FALSE(result.stopped);
  REQUIRE(result.evaluation.has_value());
  CHECK(result.evaluation->loss == evaluate(*same.model, *same.data).loss);
}

TEST_CASE("a parameter that occurs twice counts once") {
  const Parameter p(Tensor::zeros({2, 3}));
  const NamedParameters twice{{"a", p}, {"b", p}};
  CHECK(parameter_count(twice) == 6);
  const ParameterSet set(twice);
  CHECK(set.entries().size() == 1);
  CHECK(set.parameter_count() == 6);
}

TEST_CASE("a loss that is not finite stops training at its step and keeps the last checkpoint") {
  const TemporaryFolder folder;
  const SmallTask small = small_task("gmlp", Task::causal_lm);
  TrainOptions options = small_options(50);
  options.optimizer.name = "sgd";
  options.optimizer.clip = 0;
  options.schedule = {ScheduleKind::constant, 1e-3, 0, 4, 0, 1};
  RunOptions run;
  run.folder = folder / "run";
  run.eval_every = 2;
  Trainer(*small.model, *small.data, options).run(run);
  const Files before = files_of(folder);
  options.schedule.peak = 1e25;
  options.schedule.steps = 50;
  std::int64_t last = 0;
  run.progress = [&](const Progress& p) {
    last = p.step;
    return true;
  };
  run.eval_every = 40;
  Trainer trainer(*small.model, *small.data, options);
  const std::string message = error_of([&] { trainer.run(run); });
  CHECK(message.find("[train] step " + std::to_string(last + 1) + ": ") == 0);
  CHECK(last < 40);
  CHECK(files_of(folder) == before);
}

TEST_CASE("parameters that are not finite are never saved") {
  const TemporaryFolder folder;
  const SmallTask small = small_task("gmlp", Task::causal_lm);
  save_checkpoint(folder / "run", *small.model, *small.data->tokenizer());
  const std::string before = folder.read("run/model.safetensors");
  Parameter p = small.model->parameters()[0].second;
  p.assign(Tensor::full(p.value().shape(), std::nan("")));
  CHECK_THROWS_AS(save_checkpoint(folder / "run", *small.model, *small.data->tokenizer()), Error);
  Trainer trainer(*small.model, *small.data, small_options(1));
  CHECK_THROWS_AS(trainer.run({}), Error);
  CHECK(folder.read("run/model.safetensors") == before);
}

TEST_CASE("model, data and options that contradict each other") {
  const SmallTask lm = small_task("gmlp", Task::causal_lm), masked = small_task("gmlp", Task::masked_lm);
  CHECK_THROWS_AS(Trainer(*lm.model, *masked.data, small_options(1)), Error);
  const std::string text = small_text();
  const TextData longer(text, characters(text), Task::causal_lm, 17, 2);
  CHECK_THROWS_WITH(Trainer(*lm.model, longer, small_options(1)),
                    "[train] expected sequences of at most 16 tokens, the model's maximum, got 17");
  const TextData other("abcabcabcabcabcabcabc", characters("abc"), Task::causal_lm, 4, 2);
  CHECK_THROWS_AS(Trainer(*lm.model, other, small_options(1)), Error);
  CHECK_THROWS_AS(Trainer(*lm.model, *lm.data, small_options(0)), Error);
  TrainOptions options = small_options(1);
  options.micro_batches = 0;
  CHECK_THROWS_AS(Trainer(*lm.model, *lm.data, options), Error);
  options = small_options(1);
  options.schedule.peak = std::nan("");
  CHECK_THROWS_AS(Trainer(*lm.model, *lm.data, options), Error);
  options = small_options(1);
  options.optimizer = {"sgd", {{"beta1", 0.5}}};
  CHECK_THROWS_WITH(Trainer(*lm.model, *lm.data, options),
                    "[optimizer] sgd has no option beta1; its options are momentum");
}

}  // namespace weft::test
