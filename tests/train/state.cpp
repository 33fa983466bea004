// Tests of the state from which training resumes: when it is written, and which run it must belong to.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "temporary_folder.h"
#include "train_support.h"
#include "weft/checkpoint.h"
#include "weft/safetensors.h"

namespace weft::test {

TEST_CASE("the state is written before the checkpoint") {
  const TemporaryFolder folder;
  const SmallTask small = small_task("gmlp", Task::causal_lm);
  Trainer trainer(*small.model, *small.data, small_options(2));
  RunOptions run;
  run.folder = folder / "run";
  run.progress = [&](const Progress&) {  // no file can have this name
    return std::filesystem::create_directories(last_path(run.folder) + "/model.safetensors") || true;
  };
  CHECK_THROWS_AS(trainer.run(run), Error);
  Trainer resumed(*small.model, *small.data, small_options(2));
  resumed.load_state(state_path(run.folder));
  CHECK(resumed.steps_done() == 2);
}

// Files of the first commits of weft 0.x have the options of all optimizers, whichever one was used.
TEST_CASE("a state that also has options of other optimizers") {
  const TemporaryFolder folder;
  const SmallTask small = small_task("gmlp", Task::causal_lm);
  Trainer trainer(*small.model, *small.data, small_options(5));
  (void)trainer.step();
  trainer.save_state(folder / "state");
  const SafetensorsFile file(folder / "state");
  std::vector<std::pair<std::string, Tensor>> tensors;
  for (const std::string& name : file.names()) tensors.emplace_back(name, file.load(name, Load::copy));
  nlohmann::json run = nlohmann::json::parse(file.metadata().at("weft-training"));
  for (const char* key : {"optimizer", "beta1", "beta2", "eps", "weight-decay", "clip", "schedule"})
    CHECK(run.contains(key));
  run["momentum"] = 0.9;
  save_safetensors(folder / "old", tensors, {{"weft-training", run.dump()}});
  Trainer resumed(*small.model, *small.data, small_options(5));
  resumed.load_state(folder / "old");
  CHECK(resumed.steps_done() == 1);
}

TEST_CASE("a state whose counts are not whole numbers, or too large, is refused") {
  const TemporaryFolder folder;
  const SmallTask small = small_task("gmlp", Task::causal_lm);
  Trainer trainer(*small.model, *small.data, small_options(5));
  trainer.save_state(folder / "state");
  const SafetensorsFile file(folder / "state");
  std::vector<std::pair<std::string, Tensor>> tensors;
  for (const std::string& name : file.names()) tensors.emplace_back(name, file.load(name, Load::copy));
  const auto load = [&](const char* place, const nlohmann::json& value) {
    nlohmann::json run = nlohmann::json::parse(file.metadata().at("weft-training"));
    run["best"] = {{"step", 1}, {"loss", 2.5}};
    run[nlohmann::json::json_pointer(place)] = value;
    save_safetensors(folder / "forged", tensors, {{"weft-training", run.dump()}});
    return error_of([&] { trainer.load_state(folder / "forged"); });
  };
  CHECK(load("/step", 2) == "");
  for (const char* place : {"/step", "/without-better", "/best/step"})
    for (const nlohmann::json& value : {nlohmann::json(2.5), nlohmann::json(-1), nlohmann::json(INT64_MAX),
                                        nlohmann::json(UINT64_MAX), nlohmann::json("2")}) {
      CAPTURE(place);
      CAPTURE(value.dump());
      CHECK(load(place, value).find(std::string(place).substr(std::string(place).rfind('/') + 1)) != std::string::npos);
      CHECK(trainer.steps_done() == 2);
    }
}

// A state stores the options of its optimizer next to the settings of the run. An option with the same name would hide
// a setting.
TEST_CASE("no option of an optimizer has the name of a setting of the run") {
  const TemporaryFolder folder;
  const SmallTask small = small_task("gmlp", Task::causal_lm);
  std::set<std::string> settings;  // the same settings for all optimizers
  for (const OptimizerInfo& info : optimizers()) {
    CAPTURE(info.name);
    TrainOptions options = small_options(5);
    options.optimizer.name = info.name;
    Trainer(*small.model, *small.data, options).save_state(folder / "state");
    const SafetensorsFile file(folder / "state");
    nlohmann::json run = nlohmann::json::parse(file.metadata().at("weft-training"));
    for (const OptimizerInfo::Option& option : info.own) {
      CAPTURE(option.name);
      CHECK(run.erase(option.name) == 1);
    }
    std::set<std::string> others;
    for (const auto& entry : run.items()) others.insert(entry.key());
    if (settings.empty()) settings = others;
    CHECK(others == settings);
  }
  for (const char* key : {"model", "data", "seed", "batch", "lr", "optimizer", "weight-decay", "clip", "step"})
    CHECK(settings.count(key) == 1);
}

TEST_CASE("a state of another run is refused") {
  const TemporaryFolder folder;
  const SmallTask small = small_task("gmlp", Task::causal_lm);
  const std::string path = folder / "state";
  Trainer(*small.model, *small.data, small_options(5)).save_state(path);
  const auto load = [&](const SmallTask& task, const TrainOptions& options) {
    return error_of([&] { Trainer(*task.model, *task.data, options).load_state(path); });
  };
  CHECK(load(small, small_options(5)).empty());
  CHECK(load(small, small_options(9)).empty());  // the new run is longer
  TrainOptions options = small_options(5);
  options.seed = 2;
  CHECK(load(small, options) == "\"" + path + "\": it belongs to a run with seed 1; this run has 2");
  options = small_options(5);
  options.optimizer.name = "sgd";
  CHECK(load(small, options) == "\"" + path + "\": it belongs to a run with optimizer \"adamw\"; this run has \"sgd\"");
  options = small_options(5);
  options.optimizer.own["beta2"] = 0.95;
  CHECK(load(small, options) == "\"" + path + "\": it belongs to a run with beta2 0.99; this run has 0.95");
  options = small_options(5);
  options.optimizer.weight_decay = 0;
  CHECK(load(small, options) == "\"" + path + "\": it belongs to a run with weight-decay 0.1; this run has 0.0");
  CHECK(load(small_task("fnet", Task::masked_lm), small_options(5)) ==
        "\"" + path + "\": it belongs to a run with a different model or tokenizer");
  const std::pair<const char*, std::function<void(TrainOptions&)>> others[] = {
      {"micro-batches", [](TrainOptions& o) { o.micro_batches = 2; }},
      {"optimizer", [](TrainOptions& o) { o.optimizer.name = "adam"; }},
      {"beta1", [](TrainOptions& o) { o.optimizer.own["beta1"] = 0.8; }},
      {"beta2", [](TrainOptions& o) { o.optimizer.own["beta2"] = 0.98; }},
      {"eps", [](TrainOptions& o) { o.optimizer.own["eps"] = 1e-7; }},
      {"weight-decay", [](TrainOptions& o) { o.optimizer.weight_decay = 0.2; }},
      {"clip", [](TrainOptions& o) { o.optimizer.clip = 2; }},
      {"schedule", [](TrainOptions& o) { o.schedule.kind = ScheduleKind::constant; }},
      {"lr", [](TrainOptions& o) { o.schedule.peak = 1; }},
      {"warmup", [](TrainOptions& o) { o.schedule.warmup = 4; }},
      {"lr-floor", [](TrainOptions& o) { o.schedule.floor = 0.5; }}};
  for (const auto& change : others) {
    TrainOptions other = small_options(5);
    change.second(other);
    const std::string message = load(small, other);
    CAPTURE(message);
    CHECK(message.find(std::string("it belongs to a run with ") + change.first + " ") != std::string::npos);
  }
  const std::string bytes = folder.read("state");
  SmallTask changed = small_task("gmlp", Task::causal_lm);  // two characters are exchanged
  std::string text = small_text();
  std::swap(text[0], text[1]);
  changed.data = std::make_unique<TextData>(text, changed.data->tokenizer(), Task::causal_lm, 16, 4);
  CHECK(load(changed, small_options(5)).find("it belongs to a run with data ") != std::string::npos);
  for (std::size_t cut : {std::size_t{0}, std::size_t{7}, bytes.size() / 2, bytes.size() - 1}) {
    folder.write("state", bytes.substr(0, cut));
    CHECK(load(small, small_options(5)).find(path) != std::string::npos);
  }
  save_checkpoint(folder / "run", *small.model, *small.data->tokenizer());
  folder.write("state", folder.read("run/model.safetensors"));
  CHECK(load(small, small_options(5)) == "\"" + path + "\": it is not the state of a training run");
}

}  // namespace weft::test
