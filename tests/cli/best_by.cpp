// Tests of weft train --best-by with every metric that a task reports.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "command.h"
#include "report/run.h"
#include "small_run.h"
#include "temporary_folder.h"

namespace weft::test {
namespace {

using nlohmann::json;

const std::string short_run = tiny_sizes + "--steps 30 --eval-every 2 --lr 0.03 --schedule constant --threads 1 ";

// 60 rows of words, with a label for the task that a model learns only approximately.
std::string noisy_rows(const std::string& task) {
  const std::vector<std::string> words{"red", "green", "blue", "cold", "warm"};
  std::string csv = "text,label\n";
  for (std::size_t i = 0; i < 60; ++i) {
    const std::size_t a = i % 5, b = i / 5 % 5;
    const bool noise = i % 9 == 4;
    csv += words[a] + " " + words[b] + ",";
    if (task == "regression") csv += std::to_string(100 * (a + b) + i % 9);
    else if (task == "multilabel") csv += (a > 2) != noise ? "color|weather" : b > 2 ? "weather" : "color";
    else if (task == "tagging") csv += std::string(a > 2 ? "B-W" : "B-C") + (b > 2 ? " B-W" : noise ? " O" : " I-C");
    else if (task == "retrieval") csv += "the " + words[(a + noise) % 5] + " and " + words[b] + " " + words[i % 4];
    else csv += (a + b > 4) != noise ? "high" : "low";
    csv += "\n";
  }
  return csv;
}

std::string series() {
  std::string csv = "x\n";
  for (int i = 0; i < 90; ++i) csv += std::to_string(i * i % 17) + "\n";
  return csv;
}

std::vector<json> evaluations_of(const TemporaryFolder& folder, const std::string& run) {
  std::istringstream text(folder.read(run + "/metrics.jsonl"));
  std::vector<json> lines;
  for (std::string line; std::getline(text, line);)
    if (const json each = json::parse(line); each.contains("validation_loss")) lines.push_back(each);
  return lines;
}

// Returns the evaluation with the best value. Among equal ones, the loss decides.
json best_of(const std::vector<json>& all, const std::string& metric, bool lower) {
  json best = all.front();
  for (const json& each : all) {
    const double value = each[metric], before = best[metric];
    if (lower ? value < before : value > before) best = each;
    if (value == before && each["validation_loss"] < best["validation_loss"]) best = each;
  }
  return best;
}

}  // namespace

TEST_CASE("--best-by: every metric of every task, the highest or the lowest, also after --resume and in the report") {
  struct Case {
    std::string task, typed, metric;
    bool lower;
  };
  const Case cases[] = {{"classifier", "accuracy", "accuracy", false},
                        {"classifier", "macro-f1", "macro F1", false},
                        {"regression", "mae", "MAE", true},
                        {"regression", "r2", "R2", false},
                        {"multilabel", "micro-f1", "micro F1", false},
                        {"multilabel", "f1", "macro F1", false},
                        {"multilabel", "average-precision", "average precision", false},
                        {"tagging", "span-f1", "span F1", false},
                        {"retrieval", "recall@1", "recall@1", false},
                        {"forecast", "MAE", "MAE", true}};
  for (const Case& c : cases) {
    CAPTURE(c.task);
    CAPTURE(c.typed);
    const TemporaryFolder folder;
    const bool is_series = c.task == "forecast";
    folder.write("rows.csv", is_series ? series() : noisy_rows(c.task));
    const std::string run = folder / "run";
    const Outcome trained = weft("train --arch gmlp --data " + (folder / "rows.csv") + " --best-by " + c.typed +
                                 short_run + (is_series ? "--frames x --target x" : "--min-count 1 --validation 0.4") +
                                 " --task " + c.task + " --out " + run);
    CAPTURE(trained.err);
    REQUIRE(trained.code == 0);
    const auto check_best = [&] {
      const std::vector<json> all = evaluations_of(folder, "run");
      const json best = best_of(all, c.metric, c.lower), worst = best_of(all, c.metric, !c.lower);
      CHECK(best[c.metric] != worst[c.metric]);
      CHECK(json::parse(folder.read("run/best/config.json"))["step"] == best["step"]);
      CHECK(report::read_run(run, "run", {})["metrics"]["best"]["step"].dump() == best["step"].dump());
      return best;
    };
    const double best = check_best()[c.metric];
    const bool is_share = c.metric != "MAE" && c.metric != "R2";
    CHECK(number_after(trained.out, ", by " + c.metric + " ") ==
          doctest::Approx(is_share ? 100 * best : best).epsilon(1e-3));
    CHECK(json::parse(folder.read("run/run.json"))["training"]["best-by"] == c.typed);
    REQUIRE(weft("train --resume " + run + " --steps 40").code == 0);
    (void)check_best();
  }
}

TEST_CASE("--best-by: an unknown metric is an error that lists those of the task, before the folder exists") {
  const TemporaryFolder folder;
  const std::pair<const char*, const char*> cases[] = {{"classifier", "loss, accuracy, macro-f1"},
                                                       {"regression", "loss, mae, r2"},
                                                       {"multilabel", "loss, micro-f1, macro-f1, average-precision"},
                                                       {"tagging", "loss, accuracy, macro-f1, span-f1"},
                                                       {"retrieval", "loss, recall@1, recall@10"}};
  for (const auto& [key, names] : cases) {
    const std::string& task = key;  // lambdas of clang 14 can't capture structured bindings
    CAPTURE(task);
    folder.write("rows.csv", noisy_rows(task));
    CHECK(fails_with(
        weft("train --arch gmlp --min-count 1 --best-by recall --data " + (folder / "rows.csv") + short_run +
             "--task " + task + " --out " + (folder / "run")),
        2, std::string("--best-by: for the task ") + task + ", expected one of " + names + ", got \"recall\""));
    CHECK_FALSE(std::filesystem::exists(folder / "run"));
  }
}

TEST_CASE("--best-by: --patience says whether no lower or no higher value was found") {
  const TemporaryFolder folder;
  folder.write("rows.csv", noisy_rows("regression"));
  const std::pair<const char*, const char*> cases[] = {{"mae", "no lower validation MAE in 2"},
                                                       {"r2", "no higher validation R2 in 2"},
                                                       {"loss", "no lower validation l"}};
  for (const auto& [best_by, message] : cases) {
    const Outcome ended =
        weft("train --arch gmlp --min-count 1 --task regression --data " + (folder / "rows.csv") + short_run +
             "--lr 1e-30 --patience 2 --out " + (folder / best_by) + " --best-by " + best_by);
    CHECK(ended.code == 0);
    CHECK(contains(ended.err, message));
  }
}

}  // namespace weft::test
