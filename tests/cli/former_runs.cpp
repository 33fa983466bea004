// Folders of runs from an earlier version of weft are resumed, repeated and queried (tests/fixtures/runs).
#include <doctest/doctest.h>

#include <cmath>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "command.h"
#include "temporary_folder.h"

namespace weft::test {
namespace {

constexpr double tolerance = 1e-5;  // other instruction sets round differently

struct FormerRun {
  std::string name, option, data, says;  // says: the output that names the rule with which the run continues
};
const std::string of_rows =
                      "every tenth row is in the validation set (--validation every-tenth), and there is no test set",
                  of_text =
                      "the last tenth of its text is the validation set (--split 90/10/0), and there is no test set";
const std::string fixtures = WEFT_FIXTURES;
const FormerRun runs[] = {{"rows", "--data", fixtures + "/runs/sums.csv", of_rows},
                          {"text", "--text", fixtures + "/sums.txt", of_text},
                          {"masked", "--text", fixtures + "/sums.txt", of_text}};

struct Copied : TemporaryFolder {
  Copied() { std::filesystem::copy(fixtures + "/runs", *this / "runs", std::filesystem::copy_options::recursive); }
  std::string of(const FormerRun& run) const { return *this / ("runs/" + run.name); }
};

// Returns the loss of each step in a metrics.jsonl.
std::map<int, double> losses_of(const std::string& metrics) {
  std::istringstream lines(metrics);
  std::map<int, double> losses;
  for (std::string line; std::getline(lines, line);) {
    const auto entry = nlohmann::json::parse(line);
    if (entry.contains("loss")) losses[entry.at("step")] = entry.at("loss");
  }
  return losses;
}

}  // namespace

TEST_CASE("former runs: resuming them gives the results of the earlier version") {
  const Copied folder;
  for (const FormerRun& run : runs) {
    CAPTURE(run.name);
    const Outcome resumed = weft("train --steps 28 " + run.option + " " + run.data + " --resume " + folder.of(run));
    CAPTURE(resumed.err);
    REQUIRE(resumed.code == 0);
    CHECK(contains(resumed.err,
                   "weft: run.json is from an earlier version of weft, whose rule still applies: " + run.says + "\n"));
    CHECK_FALSE(contains(resumed.out, "test "));
    const auto got = losses_of(folder.read("runs/" + run.name + "/metrics.jsonl"));
    CHECK(got.size() == 28);
    std::istringstream expected(folder.read("runs/" + run.name + "/losses"));
    int steps = 0, step = 0;
    for (double loss = 0; expected >> step >> loss; ++steps)
      CHECK(got.at(step) == doctest::Approx(loss).epsilon(tolerance));
    CHECK(steps == 8);
    // The run.json of the resumed run records the rule.
    const Outcome again = weft("train --steps 29 --resume " + folder.of(run));
    CHECK(again.code == 0);
    CHECK_FALSE(contains(again.err, "earlier version of weft"));
    const auto data = nlohmann::json::parse(folder.read("runs/" + run.name + "/run.json"))["data"];
    CHECK((run.says == of_rows ? data["validation"] == "every-tenth" : data["split"] == "90/10/0"));
  }
}

TEST_CASE("former runs: their run.json repeats them") {
  const Copied folder;
  for (const FormerRun& run : runs) {
    CAPTURE(run.name);
    auto settings = nlohmann::json::parse(folder.read("runs/" + run.name + "/run.json"));
    settings["data"][run.option.substr(2)] = run.data;
    folder.write("run.json", settings.dump());
    const std::string again = folder.of(run) + "-again";
    const Outcome repeated = weft("train --config " + (folder / "run.json") + " --out " + again);
    CAPTURE(repeated.err);
    REQUIRE(repeated.code == 0);
    CHECK(contains(repeated.err, run.says));
    const auto former = losses_of(folder.read("runs/" + run.name + "/metrics.jsonl")),
               got = losses_of(folder.read("runs/" + run.name + "-again/metrics.jsonl"));
    REQUIRE(got.size() == former.size());
    for (const auto& [step, loss] : former) CHECK(got.at(step) == doctest::Approx(loss).epsilon(tolerance));
  }
}

TEST_CASE("former runs: test rows still choose the best checkpoint, and other rows follow the new rule") {
  const Copied folder;
  const std::string rows = runs[0].data, path = folder.of(runs[0]) + "/run.json";
  auto settings = nlohmann::json::parse(folder.read("runs/rows/run.json"));
  settings["data"]["data"] = settings["data"]["test"] = rows;
  folder.write("run.json", settings.dump());
  const std::string repeat = "train --steps 4 --overwrite --out " + (folder / "again") + " --config ";
  const Outcome tested = weft(repeat + (folder / "run.json"));
  CAPTURE(tested.err);
  REQUIRE(tested.code == 0);
  CHECK(contains(tested.err, "its test rows determine the best checkpoint (--validation FILE)"));
  CHECK_FALSE(contains(tested.out, "test "));
  const auto data = nlohmann::json::parse(folder.read("again/run.json"))["data"];
  CHECK(data["validation"] == std::filesystem::absolute(rows).lexically_normal().string());
  CHECK_FALSE(data.contains("test"));
  const Outcome other = weft(repeat + path + " --columns text=what+more,label=kind --data " + rows);
  CAPTURE(other.err);
  REQUIRE(other.code == 0);
  CHECK_FALSE(contains(other.err, "earlier version of weft"));
  CHECK(contains(other.err, "rows, stratified by label, with seed 0"));
}

TEST_CASE("former runs: their checkpoints classify with the names of the labels") {
  const Copied folder;
  folder.write("in", "4 plus 5 is 9\n");
  const Outcome outcome = weft("classify --top 3 --json " + folder.of(runs[0]) + " " + (folder / "in"));
  CAPTURE(outcome.err);
  REQUIRE(outcome.code == 0);
  for (const char* label : {"\"threefold\"", "\"one, more\"", "\"zwölf\""}) CHECK(contains(outcome.out, label));
}

}  // namespace weft::test
