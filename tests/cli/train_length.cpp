// Tests of the length of training: steps, epochs, folds, and the interval of evaluations.
#include <doctest/doctest.h>
#include <signal.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

#include "command.h"
#include "small_run.h"
#include "temporary_folder.h"
#include "train/train_steps.h"

namespace weft::test {
using nlohmann::json;

TEST_CASE("steps from the number of rows: five epochs, at least 1,000 or 100 epochs, at most 20,000 or one epoch") {
  const auto steps = [](std::int64_t rows, std::int64_t micro_batches = 1) {
    return usual_steps({rows, 32, true}, micro_batches);
  };
  CHECK(steps(24000).steps == 3750);
  CHECK(steps(24000).note == "steps: 3,750, 5 epochs of 24,000 rows (--steps or --epochs chooses another number)");
  CHECK(steps(24000, 2).steps == 1875);
  CHECK(steps(5000).steps == 1000);
  CHECK(steps(5000).note == "steps: 1,000, 6.4 epochs of 5,000 rows (--steps or --epochs chooses another number)");
  CHECK(steps(64).steps == 200);
  CHECK(steps(1).steps == 100);
  CHECK(steps(300000).steps == 20000);
  CHECK(steps(5000000).steps == 156250);
  CHECK(steps(5000000).note ==
        "steps: 156,250, 1 epoch of 5,000,000 rows (--steps or --epochs chooses another number)");
  CHECK(usual_steps({1000000, 768, false}, 1).steps == 6515);
  CHECK(usual_steps({100000, 768, false}, 1).steps == 2000);
  CHECK(usual_steps({768, 768, false}, 1).steps == 100);
  CHECK(usual_steps({2000000000, 1000, false}, 1).note ==
        "steps: 20,000, 0.01 epochs of 2,000,000,000 tokens (--steps or --epochs chooses another number)");
  CHECK(steps_of_epochs(0.5, {24000, 32, true}, 1).steps == 375);
  CHECK(steps_of_epochs(1e-9, {24000, 32, true}, 1).steps == 1);
  CHECK(steps_of_epochs(2, {33, 32, true}, 1).steps == 4);
}

TEST_CASE("weft train: epochs instead of steps, steps from the data, and at least ten measurements") {
  const TemporaryFolder folder;
  folder.write("csv", small_csv());
  folder.write("text", small_text());
  const std::string train =
      "train --arch gmlp --data " + (folder / "csv") + row_sizes + "--overwrite --out " + (folder / "run") + " ";
  const auto steps = [&](const std::string& options) {
    const Outcome outcome = weft(train + options);
    CAPTURE(outcome.err);
    CHECK(outcome.code == 0);
    const json training = json::parse(folder.read("run/run.json"))["training"];
    CHECK_FALSE(training.contains("epochs"));
    return training["steps"].get<int>();
  };
  CHECK(steps("--epochs 2") == 28);  // 54 rows in batches of 4
  CHECK(steps("--epochs 1.5") == 21);
  CHECK(contains(weft(train + "--epochs 1.5").err, "steps: 21, 1.5 epochs of 54 rows\n"));
  CHECK(steps("--epochs 2 --micro-batches 2") == 14);
  CHECK(contains(weft("train --resume " + (folder / "run") + " --epochs 3").err, "steps: 21, 3 epochs of 54 rows\n"));
  CHECK(json::parse(folder.read("run/run.json"))["training"]["steps"] == 21);
  CHECK(fails_with(weft(train + "--epochs 2 --steps 3"), 2, "--epochs"));
  CHECK(fails_with(weft(train + "--epochs 0"), 2, "above 0"));
  CHECK(
      contains(weft(train).err, "steps: 1,000, 71.4 epochs of 54 rows (--steps or --epochs chooses another number)\n"));
  for (const int count : {25, 60, 7}) {
    REQUIRE(weft(train + "--steps " + std::to_string(count)).code == 0);
    std::istringstream metrics(folder.read("run/metrics.jsonl"));
    int validations = 0;
    for (std::string line; std::getline(metrics, line);) validations += contains(line, "validation_loss");
    CHECK(validations >= std::min(count, 10));
    CHECK(json::parse(folder.read("run/run.json"))["training"]["eval-every"] == std::max(1, count / 10));
  }
}

TEST_CASE("weft train --folds: a run for each fold, tested on its part, with the mean and standard deviation") {
  const TemporaryFolder folder;
  folder.write("csv", small_csv());
  const std::string options = "train --arch gmlp --data " + (folder / "csv") + row_sizes + "--steps 30 --lr 1e-2 ";
  const std::string endless = "train --arch gmlp --data " + (folder / "csv") + row_sizes + "--steps 100000 --lr 1e-2 ";
  const Outcome trained = weft(options + "--folds 3 --out " + (folder / "all"));
  CAPTURE(trained.err);
  CAPTURE(trained.out);
  REQUIRE(trained.code == 0);
  double sum = 0, squares = 0;
  for (int fold = 1; fold <= 3; ++fold) {
    const std::string run = "all/fold-" + std::to_string(fold);
    const std::string metrics = folder.read(run + "/metrics.jsonl");
    const json test = json::parse(metrics.substr(metrics.rfind("\n{") + 1));
    REQUIRE(test.contains("test_loss"));
    CHECK(test["predicted"] == 20);
    const double accuracy = 100 * test["accuracy"].get<double>();
    sum += accuracy;
    squares += accuracy * accuracy;
    CHECK(contains(trained.err, "test: fold " + std::to_string(fold) + " of 3, 20 of 60 rows, stratified by label"));
    const json settings = json::parse(folder.read(run + "/run.json"));
    CHECK(settings["data"]["folds"] == std::to_string(fold) + "/3");
    CHECK(contains(settings["found"]["data"].get<std::string>(), "36 + 4 rows"));
  }
  CHECK(contains(trained.out, "\nfold         test accuracy   test macro F1\n1 "));
  CHECK(number_after(trained.out, "\nmean ") == doctest::Approx(sum / 3).epsilon(1e-3));
  CHECK(number_after(trained.out, "\ndeviation ") ==
        doctest::Approx(std::sqrt(std::max(0.0, (squares - sum * sum / 3) / 2))).epsilon(1e-2));
  // A single fold gives the same run, and can be continued.
  REQUIRE(weft(options + "--folds 2/3 --out " + (folder / "second")).code == 0);
  CHECK(folder.read("second/last/training.safetensors") == folder.read("all/fold-2/last/training.safetensors"));
  CHECK(contains(weft("train --steps 32 --resume " + (folder / "all/fold-2")).out, "\ntest accuracy "));
  CHECK(weft("train --config " + (folder / "all/fold-2/run.json") + " --out " + (folder / "again")).code == 0);
  CHECK(folder.read("again/metrics.jsonl").size() > 0);
  // After a fold is stopped, the message says which folds remain.
  std::filesystem::create_directory(folder / "all/fold-4");
  const Outcome stopped =
      weft_with_signal(endless + "--overwrite --folds 3 --out " + (folder / "all"), ": validation loss", SIGINT);
  CHECK(contains(stopped.err, "weft: \"" + (folder / "all/fold-4") + "\" is kept; it is not one of these 3 folds\n"));
  CHECK(contains(stopped.err,
                 "weft: fold 3 has not run yet: the same command with --folds 3/3 --out " + (folder / "all/fold-3")));
  CHECK_FALSE(contains(stopped.err, "fold 1 is left"));
  // Invalid combinations.
  CHECK(fails_with(weft("train --resume " + (folder / "second") + " --steps 40 --test " + (folder / "csv")), 2,
                   "is one fold of a cross-validation (--folds), and this fold is its test set"));
  const std::string all = options + "--folds 3 --out " + (folder / "all");
  CHECK(fails_with(weft(all), 1, "already exists"));
  CHECK(fails_with(weft(all + " --test " + (folder / "csv")), 2, "--test"));
  CHECK(fails_with(weft(all + " --log " + (folder / "log")), 2, "--log is for one run"));
  CHECK(fails_with(weft("train --folds 3 --resume " + (folder / "second")), 2, "leave out --folds"));
  folder.write("text", small_text());
  CHECK(fails_with(weft("train --arch gmlp --text " + (folder / "text") + " --folds 3 --out x"), 2,
                   "--folds requires --data"));
  for (const char* wrong : {"1", "0/3", "4/3", "a", "2/", "/3"})
    CHECK(weft(options + "--folds " + wrong + " --out " + (folder / "x")).code == 2);
  const Outcome many = weft(options + "--folds 100 --out " + (folder / "x"));
  CHECK(many.code == 1);
  CHECK(contains(many.err, "60 different texts are too few for 100 folds"));
}

}  // namespace weft::test
