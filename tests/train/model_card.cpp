// Tests of model cards: what checkpoints say about the origin of a model.
#include "weft/model_card.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>

#include "contains.h"
#include "scripted_data.h"
#include "temporary_folder.h"
#include "train_support.h"
#include "weft/checkpoint.h"
#include "weft/trainer.h"

namespace weft::test {

TEST_CASE("model card: a run writes its data, its settings and its results") {
  const TemporaryFolder folder;
  const double infinite = std::numeric_limits<double>::infinity();
  const Script script[] = {{3, 0.5}, {2, 0.25}, {4, infinite}};
  const ScriptedData data({std::begin(script), std::end(script)});
  const auto model = small_gmlp();
  TrainOptions options = small_options(6);
  options.seed = 7;
  Trainer trainer(*model, data, options);
  RunOptions run;
  run.folder = folder / "run";
  run.eval_every = 2;
  run.license = "CC-BY-4.0";
  run.about = "Weather of \"2020\"\n";
  trainer.run(run);

  const ModelCard best = load_checkpoint(folder / "run").info.card;
  CHECK(best.license == "CC-BY-4.0");
  CHECK(best.about == "Weather of \"2020\"\n");
  CHECK(best.data == data.fingerprint());
  const auto settings = nlohmann::json::parse(best.settings);
  CHECK(settings.at("seed") == 7);
  CHECK(settings.at("optimizer") == "adamw");
  CHECK_FALSE(settings.contains("model"));
  REQUIRE(best.validation.size() == 1);
  CHECK(best.validation.front().first == "right");
  CHECK(best.validation.front().second == 0.25);
  const ModelCard last = load_checkpoint(folder / "run/last").info.card;
  CHECK(last.settings == best.settings);
  CHECK(last.validation.empty());  // infinite
}

TEST_CASE("model card: a checkpoint without one has an empty card, and a card survives another save") {
  const TemporaryFolder folder;
  const SmallTask small = small_task("fnet", Task::classifier);
  save_checkpoint(folder / "plain", *small.model, *small.data->tokenizer());
  CHECK_FALSE(contains(folder.read("plain/config.json"), "\"card\""));
  CheckpointInfo info;
  const double nan = std::numeric_limits<double>::quiet_NaN();
  info.card = {"MIT", "", "rows", R"({"lr":0.5})", {{"f1", 1}, {"mae", nan}, {"accuracy", 0.1}}};
  save_checkpoint(folder / "a", *small.model, *small.data->tokenizer(), info);
  const Checkpoint read = load_checkpoint(folder / "a");
  save_checkpoint(folder / "b", *read.model, *read.tokenizer, read.info);
  CHECK(folder.read("b/model.safetensors") == folder.read("a/model.safetensors"));
  CHECK(folder.read("b/config.json") == folder.read("a/config.json"));
  CHECK(read.info.card.license == "MIT");
  CHECK(read.info.card.about.empty());
  CHECK(read.info.card.data == "rows");
  CHECK(read.info.card.settings == R"({"lr":0.5})");
  const std::vector<std::pair<std::string, double>> sorted = {{"accuracy", 0.1}, {"f1", 1}};
  CHECK(read.info.card.validation == sorted);

  const auto refusal = [&](const ModelCard& card) {
    info.card = card;
    return error_of([&] { save_checkpoint(folder / "c", *small.model, *small.data->tokenizer(), info); });
  };
  for (const char* settings : {"[1]", "7", "no JSON"})
    CHECK(contains(refusal({.settings = settings}), "expected the settings of a model card to be a JSON object, got"));
  CHECK(contains(refusal({.about = "caf\xe9"}), "[checkpoint] the description"));
  CHECK_FALSE(std::filesystem::exists(folder / "c/model.safetensors"));
  Trainer trainer(*small.model, *small.data, small_options(2));
  RunOptions run;
  run.license = "\xff";
  CHECK(contains(error_of([&] { trainer.run(run); }), "[checkpoint] the license"));
  CHECK(trainer.steps_done() == 0);
}

}  // namespace weft::test
