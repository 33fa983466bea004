// Tests of a run's folder as the library writes it: best and last checkpoint, metrics, patience, failed saves.
#include <doctest/doctest.h>
#include <signal.h>
#include <sys/resource.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <sstream>

#include "scripted_data.h"
#include "temporary_folder.h"
#include "train_support.h"
#include "weft/checkpoint.h"
#include "weft/run_folder.h"

namespace weft::test {
namespace {

RunOptions into(const std::string& folder, std::int64_t eval_every) {
  RunOptions run;
  run.folder = folder;
  run.eval_every = eval_every;
  return run;
}

}  // namespace

TEST_CASE("a run: the best checkpoint has the lowest validation loss, and the last one is the latest") {
  const TemporaryFolder folder;
  const ScriptedData data({3, 2, 2, 2.5});
  const auto model = small_gmlp();
  Trainer trainer(*model, data, small_options(8));
  const RunResult result = trainer.run(into(folder / "run", 2));
  CHECK_FALSE(result.out_of_patience);
  CHECK(trainer.best()->step == 4);
  CHECK(trainer.best()->loss == 2);
  const Checkpoint best = load_checkpoint(folder / "run"), last = load_checkpoint(folder / "run/last");
  CHECK(best.info.step == 4);
  CHECK(*best.info.validation_loss == 2);
  CHECK(last.info.step == 8);
  CHECK(*last.info.validation_loss == 2.5);
  CHECK(trainer.is_saved_as(last));
  CHECK_FALSE(trainer.is_saved_as(best));
}

TEST_CASE("a run: patience ends it, even if it was stopped and resumed in between") {
  for (const std::int64_t stop_at : {0, 5, 6, 7}) {
    CAPTURE(stop_at);
    const TemporaryFolder folder;
    RunOptions run = into(folder / "run", 2);
    run.patience = 2;
    std::int64_t before = 0;
    if (stop_at > 0) {
      const ScriptedData data({3, 2, 2.5, 2.25});
      const auto model = small_gmlp();
      run.progress = [&](const Progress& p) { return p.step < stop_at; };
      Trainer trainer(*model, data, small_options(20));
      CHECK(trainer.run(run).stopped);
      before = data.evaluations;
      run.progress = nullptr;
    }
    std::vector<double> losses = {3, 2, 2.5, 2.25, 1};
    losses.erase(losses.begin(), losses.begin() + before);
    const ScriptedData data({losses.begin(), losses.end()});
    const auto model = small_gmlp();
    Trainer trainer(*model, data, small_options(20));
    if (stop_at > 0) trainer.load_state(state_path(run.folder));
    const RunResult result = trainer.run(run);
    CHECK(result.out_of_patience);
    CHECK_FALSE(result.stopped);
    CHECK(trainer.steps_done() == 8);
    CHECK(result.evaluation->loss == 2.25);
    CHECK(trainer.best()->step == 4);
    CHECK(load_checkpoint(run.folder).info.step == 4);
  }
}

TEST_CASE("a run has ended by itself if its patience would have ended at the last step") {
  const TemporaryFolder folder;
  const ScriptedData data({3, 2, 2.5, 2.25});
  const auto model = small_gmlp();
  RunOptions run = into(folder / "run", 2);
  run.patience = 2;
  Trainer trainer(*model, data, small_options(8));
  CHECK_FALSE(trainer.run(run).out_of_patience);
  CHECK(trainer.steps_done() == 8);
}

TEST_CASE("a run: a repeated evaluation has only one line") {
  const TemporaryFolder folder;
  const SmallTask small = small_task("gmlp", Task::causal_lm), same = small_task("gmlp", Task::causal_lm);
  const RunOptions run = into(folder / "run", 2);
  Trainer(*small.model, *small.data, small_options(4)).run(run);
  const std::string metrics = folder.read("run/metrics.jsonl");
  CHECK(metrics_of(folder, "run").size() == 6);
  Trainer trainer(*same.model, *same.data, small_options(4));
  trainer.load_state(state_path(run.folder));  // saved before the last evaluation
  CHECK(trainer.run(run).evaluation.has_value());
  CHECK(folder.read("run/metrics.jsonl") == metrics);
}

TEST_CASE("a run: metrics have a line per step and per evaluation, and are truncated where the run continues") {
  const TemporaryFolder folder;
  const SmallTask small = small_task("gmlp", Task::classifier), same = small_task("gmlp", Task::classifier);
  RunOptions run = into(folder / "run", 3);
  run.progress = [](const Progress& p) { return p.step < 5; };
  {
    Trainer trainer(*small.model, *small.data, small_options(7));
    CHECK(trainer.run(run).stopped);
  }
  const std::string five = folder.read("run/metrics.jsonl");
  folder.write("run/metrics.jsonl", five + "{\"step\":6,\"loss\":1}\n{\"step\":7,\"lo");  // from a killed run
  Trainer trainer(*same.model, *same.data, small_options(7));
  trainer.load_state(state_path(run.folder));
  run.progress = nullptr;
  const RunResult result = trainer.run(run);
  CHECK(folder.read("run/metrics.jsonl").rfind(five, 0) == 0);
  const SmallTask again = small_task("gmlp", Task::classifier);
  Trainer by_hand(*again.model, *again.data, small_options(7));
  std::int64_t step = 0;
  double seconds = 0;
  for (const auto& line : metrics_of(folder, "run")) {
    CAPTURE(line.dump());
    if (line.contains("validation_loss")) {
      const Evaluation evaluation = evaluate(*again.model, *again.data);
      CHECK((step == 3 || step == 6 || step == 7));
      CHECK(line["step"] == step);
      CHECK(line["validation_loss"] == evaluation.loss);
      CHECK(line["accuracy"] == evaluation.metric("accuracy"));
      CHECK(line["macro F1"] == evaluation.metric("macro F1"));
      CHECK(line["predicted"] == evaluation.predicted);
      continue;
    }
    CHECK(line["step"] == ++step);
    CHECK(line["loss"] == by_hand.step());
    CHECK(line["learning_rate"] == small_options(7).schedule(step));
    CHECK(line["gradient_norm"] > 0);
    CHECK(line["tokens_per_second"] > 0);
    CHECK(line["seconds"] > seconds);
    seconds = line["seconds"];
  }
  CHECK(step == 7);
  CHECK(metrics_of(folder, "run").size() == 10);
  CHECK(result.evaluation.has_value());
}

TEST_CASE("a run: the gradient's norm is measured before clipping") {
  double norms[2];
  for (const std::size_t i : {0, 1}) {
    const SmallTask small = small_task("gmlp", Task::causal_lm);
    TrainOptions options = small_options(1);
    options.optimizer.clip = i == 0 ? 0 : 1e-3;
    RunOptions run;
    run.progress = [&](const Progress& p) { return norms[i] = p.gradient_norm, true; };
    Trainer(*small.model, *small.data, options).run(run);
  }
  CHECK(norms[0] > 1e-2);
  CHECK(norms[0] == norms[1]);
}

TEST_CASE("a run that starts at step 1 replaces the run in its folder when it has saved a checkpoint") {
  const TemporaryFolder folder;
  const auto run_into = [&](std::uint64_t seed, std::int64_t steps, std::int64_t fail_at) {
    const SmallTask small = small_task("gmlp", Task::causal_lm);
    TrainOptions options = small_options(steps);
    options.seed = seed;
    RunOptions run = into(folder / "run", 0);
    run.progress = [&](const Progress& p) {
      if (p.step > 1 || steps == 1) CHECK(load_checkpoint(folder / "run").info.step == 3);
      if (p.step == fail_at) throw Error("no");
      return true;
    };
    Trainer(*small.model, *small.data, options).run(run);
  };
  {
    const SmallTask small = small_task("gmlp", Task::causal_lm);
    Trainer(*small.model, *small.data, small_options(3)).run(into(folder / "run", 0));
  }
  const std::string old = folder.read("run/last/model.safetensors"), metrics = folder.read("run/metrics.jsonl");
  CHECK_THROWS_WITH_AS(run_into(2, 4, 2), "no", Error);
  CHECK(folder.read("run/last/model.safetensors") == old);
  CHECK(folder.read("run/metrics.jsonl") == metrics);
  CHECK_FALSE(std::filesystem::exists(folder / "run/replaced"));
  run_into(2, 4, 0);
  CHECK(load_checkpoint(folder / "run").info.step == 4);
  CHECK(metrics_of(folder, "run").size() == 5);
  CHECK_FALSE(std::filesystem::exists(folder / "run/replaced"));
}

TEST_CASE("only one trainer at a time can use a run's folder") {
  const TemporaryFolder folder;
  const SmallTask small = small_task("gmlp", Task::causal_lm);
  RunOptions run = into(folder / "run", 0);
  run.progress = [&](const Progress&) {
    const SmallTask other = small_task("gmlp", Task::causal_lm);
    Trainer second(*other.model, *other.data, small_options(2));
    CHECK(error_of([&] { second.run(into(folder / "run", 0)); }).find("is in use by process ") != std::string::npos);
    return true;
  };
  Trainer(*small.model, *small.data, small_options(2)).run(run);
  const RunFolder free_again(folder / "run");
}

TEST_CASE("a run whose save fails: the previous checkpoint stays, and the run ends or continues, as requested") {
  for (const bool keep_going : {false, true}) {
    CAPTURE(keep_going);
    const TemporaryFolder folder;
    const ScriptedData data({3, 2.5, 2, 1.5});
    const auto model = small_gmlp();
    rlimit before;
    REQUIRE(::getrlimit(RLIMIT_FSIZE, &before) == 0);
    const auto limit = [&](rlim_t bytes) {
      const rlimit now{bytes, before.rlim_max};
      REQUIRE(::setrlimit(RLIMIT_FSIZE, &now) == 0);
    };
    RunOptions run = into(folder / "run", 2);
    std::vector<std::string> said;
    if (keep_going) run.save_failed = [&](const Error& error) { return said.push_back(error.what()), true; };
    run.progress = [&](const Progress& p) {  // the disk is full during the saves after steps 4 and 6
      limit(p.step == 4 || p.step == 5 || p.step == 6 ? 4096 : before.rlim_cur);
      return true;
    };
    run.evaluated = [&](std::int64_t step, const Evaluation&) {
      const std::int64_t saved = step == 8 ? 8 : 2;
      CHECK(load_checkpoint(folder / "run/last").info.step == saved);
      CHECK(load_checkpoint(folder / "run/best").info.step == saved);
    };
    Trainer trainer(*model, data, small_options(8));
    const std::string error = error_of([&] { trainer.run(run); });
    limit(before.rlim_cur);
    CHECK(error.empty() == keep_going);
    if (!keep_going) CHECK(error.find("File too large") != std::string::npos);
    CHECK((said.size() >= 4) == keep_going);
    CHECK(trainer.best()->step == (keep_going ? 8 : 2));
    CHECK(load_checkpoint(folder / "run").info.step == (keep_going ? 8 : 2));
    const auto other = small_gmlp();
    Trainer resumed(*other, data, small_options(8));
    resumed.load_state(state_path(folder / "run"));
    CHECK(resumed.steps_done() == (keep_going ? 8 : 2));
  }
}

TEST_CASE("a run that a killed process moved completely or partly is found and moved back") {
  const TemporaryFolder folder;
  const SmallTask small = small_task("gmlp", Task::causal_lm);
  Trainer(*small.model, *small.data, small_options(2)).run(into(folder / "run", 0));
  const std::string names[] = {"last", "best", "metrics.jsonl", "run.json"};
  std::filesystem::create_directory(folder / "run/.replacing");
  for (std::size_t moved = 1; moved <= std::size(names); ++moved) {
    for (std::size_t i = 0; i < moved; ++i)
      std::filesystem::rename(folder / ("run/" + names[i]), folder / ("run/.replacing/" + names[i]));
    CHECK(load_checkpoint(folder / "run").info.step == 2);
    { const RunFolder opened(folder / "run"); }
    for (const std::string& name : names) CHECK(std::filesystem::exists(folder / ("run/" + name)));
    CHECK_FALSE(std::filesystem::exists(folder / "run/.replacing"));
    std::filesystem::create_directory(folder / "run/.replacing");
  }
  for (const std::string& name : names)
    std::filesystem::rename(folder / ("run/" + name), folder / ("run/.replacing/" + name));
  std::filesystem::rename(folder / "run/.replacing", folder / "run/replaced");
  CHECK(load_checkpoint(folder / "run").info.step == 2);
  { const RunFolder opened(folder / "run"); }
  CHECK(load_checkpoint(folder / "run/best").info.step == 2);
  CHECK_FALSE(std::filesystem::exists(folder / "run/replaced"));
}

TEST_CASE("only files of a run are replaced, including those of an earlier version") {
  const TemporaryFolder folder;
  folder.write("run/config.json", "mine");
  folder.write("run/best/notes", "mine");
  { RunFolder(folder / "run").begin("{}"); }
  CHECK(folder.read("run/config.json") == "mine");
  CHECK(folder.read("run/best/notes") == "mine");
  CHECK(folder.read("run/run.json") == "{}");
  const SmallTask small = small_task("gmlp", Task::causal_lm);
  save_checkpoint(folder / "old", *small.model, *small.data->tokenizer());
  folder.write("old/training.safetensors", "state");
  const std::string config = folder.read("old/config.json");
  CHECK(saved_run(folder / "old") == (folder / "old/model.safetensors"));
  {
    RunFolder open(folder / "old");
    open.begin("{}");
    CHECK(load_checkpoint(folder / "old").model->arch() == std::string("gmlp"));
    CHECK_FALSE(std::filesystem::exists(folder / "old/config.json"));
  }  // nothing was saved, so the old run is moved back
  CHECK(folder.read("old/config.json") == config);
  CHECK(folder.read("old/training.safetensors") == "state");
  CHECK_FALSE(std::filesystem::exists(folder / "old/run.json"));
  Trainer(*small.model, *small.data, small_options(2)).run(into(folder / "old", 0));
  CHECK_FALSE(std::filesystem::exists(folder / "old/model.safetensors"));
  CHECK(load_checkpoint(folder / "old").info.step == 2);
}

TEST_CASE("which checkpoint is used for a folder") {
  const TemporaryFolder folder;
  folder.write("run/best/model.safetensors", "");
  folder.write("run/last/model.safetensors", "");
  folder.write("begun/run.json", "{}");
  folder.write("checkpoint/model.safetensors", "");
  const std::string run = folder / "run";
  CHECK(checkpoint_folder(run) == run + "/best");
  CHECK(checkpoint_folder(run, "best") == run + "/best");
  CHECK(checkpoint_folder(run, "last") == run + "/last");
  CHECK(checkpoint_folder(run + "/last") == run + "/last");
  CHECK(checkpoint_folder(folder / "checkpoint") == (folder / "checkpoint"));
  CHECK(checkpoint_folder(folder / "missing") == (folder / "missing"));
  std::filesystem::remove_all(run + "/best");
  CHECK(checkpoint_folder(run) == run + "/last");
  CHECK_THROWS_WITH_AS((void)checkpoint_folder(run, "first"), doctest::Contains("got \"first\""), Error);
  CHECK_THROWS_WITH_AS((void)checkpoint_folder(folder / "begun"), doctest::Contains("has not saved a checkpoint yet"),
                       Error);
  CHECK_THROWS_WITH_AS((void)checkpoint_folder(folder / "begun", "last"),
                       doctest::Contains("has not saved a last checkpoint"), Error);
}

TEST_CASE("a state of an earlier version has micro-batches with equal weights, and keeps them") {
  const TemporaryFolder folder;
  const auto tokenizer = characters(small_text(), Task::masked_lm);
  const TextData data(small_text(), tokenizer, Task::masked_lm, 16, 1);
  TrainOptions options = small_options(6);
  options.micro_batches = 3;
  const auto values = [&](bool former) {
    const auto model = make_model({"gmlp", Task::masked_lm, tokenizer->size(), 0, R"({"d_model":8,"seq_len":16})"},
                                  {Random(3), DType::f32});
    Trainer trainer(*model, data, options);
    trainer.save_state(folder / "state");
    if (former) {
      std::string text = folder.read("state");
      const std::string key = "\\\"equal-shares\\\":false";
      REQUIRE(text.find(key) != std::string::npos);
      text.replace(text.find(key), key.size(), "\\\"equal-shares\\\":true ");
      folder.write("state", text);
    }
    trainer.load_state(folder / "state");
    const double loss = trainer.step();
    trainer.save_state(folder / "state");
    CHECK((folder.read("state").find("equal-shares\\\":true") != std::string::npos) == former);
    return loss;
  };
  CHECK(values(true) != values(false));
}

}  // namespace weft::test
