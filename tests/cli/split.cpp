// Tests of the data that weft train holds out, and of the test of a run.
#include <doctest/doctest.h>
#include <signal.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "command.h"
#include "small_run.h"
#include "temporary_folder.h"

namespace weft::test {
namespace {

using nlohmann::json;

// Rows with alternating labels.
std::string rotating(int rows, int labels) {
  std::string csv = "text,label\n";
  for (int i = 0; i < rows; ++i)
    csv += "row " + std::to_string(i) + " of " + std::to_string(i % labels) + ",l" + std::to_string(i % labels) + "\n";
  return csv;
}

struct SplitRows {
  SplitRows() {
    folder.write("csv", small_csv());
    std::string test;
    for (int i = 0; i < 30; ++i) test += std::to_string(i % 3 + 1) + ",,red two south " + std::to_string(i) + "\n";
    folder.write("test", test);
  }
  std::string train(const std::string& more, const std::string& run = "run") const {
    return "train --arch gmlp --data " + (folder / "csv") + row_sizes + "--overwrite --out " + (folder / run) + " " +
           more;
  }
  std::vector<json> tests(const std::string& run = "run") const {
    std::istringstream text(folder.read(run + "/metrics.jsonl"));
    std::vector<json> lines;
    for (std::string line; std::getline(text, line);)
      if (const json each = json::parse(line); each.contains("test_loss")) lines.push_back(each);
    return lines;
  }
  json settings(const std::string& run = "run") const { return json::parse(folder.read(run + "/run.json")); }
  TemporaryFolder folder;
};

}  // namespace

TEST_CASE_FIXTURE(
    SplitRows, "rows: a share is held out for validation, some rows of each of alternating labels, and is reported") {
  for (const int labels : {5, 10, 100}) {
    folder.write("rows", rotating(1000, labels));
    const Outcome trained = weft("train --arch gmlp --data " + (folder / "rows") + row_sizes +
                                 "--steps 1 --overwrite --out " + (folder / "run"));
    CAPTURE(trained.err);
    REQUIRE(trained.code == 0);
    CHECK(contains(trained.err, "validation: 100 of 1,000 rows, stratified by label, with seed 0\n"));
    CHECK_FALSE(contains(trained.err, "labels without rows"));
    CHECK(contains(settings()["found"]["data"].get<std::string>(), "900 + 100 rows"));
  }
  CHECK(contains(weft(train("--steps 1 --validation 0.25 --split-seed 4")).err,
                 "validation: 15 of 60 rows, stratified by label, with seed 4\n"));
  CHECK(settings()["data"]["validation"] == 0.25);
  CHECK(settings()["data"]["split-seed"] == 4);
  const std::string found = settings()["found"]["data"];
  REQUIRE(weft(train("--steps 1 --validation 0.25 --seed 8")).code == 0);
  CHECK(settings()["found"]["data"] != found);
}

TEST_CASE_FIXTURE(SplitRows, "rows: a file for validation, and errors that name absent labels") {
  folder.write("two", "1,,red\n2,,two\n1,,red green\n");
  const Outcome trained = weft(train("--steps 1 --validation " + (folder / "two")));
  CAPTURE(trained.err);
  CHECK(contains(trained.err, "validation: 3 rows of " + (folder / "two") + "\n"));
  CHECK(contains(trained.err, "labels without rows in the validation set: 1 of 3 (3)\n"));
  CHECK(contains(settings()["found"]["data"].get<std::string>(), "60 + 3 rows"));
  CHECK(settings()["data"]["validation"] == folder / "two");
  CHECK(weft("train --resume " + (folder / "run") + " --steps 2").code == 0);
  std::filesystem::rename(folder / "two", folder / "moved");
  CHECK(
      fails_with(weft("train --resume " + (folder / "run") + " --steps 3"), 1, "give the new path with --validation"));
  CHECK(weft("train --resume " + (folder / "run") + " --steps 3 --validation " + (folder / "moved")).code == 0);
  folder.write("csv", small_csv() + "rare,,something else\n");
  const std::string says = weft(train("--steps 1")).err;
  CHECK((contains(says, "labels without rows in the validation set: 1 of 4 (rare)\n") ||
         contains(says, "labels without rows in the training set: 1 of 4 (rare)\n")));
  for (const char* wrong : {"0", "1", "1.5", "-0.1"})
    CHECK(fails_with(weft(train(std::string("--validation ") + wrong)), 2, "above 0, below 1, got"));
  CHECK(fails_with(weft(train("--validation " + (folder / "none"))), 1, "none"));
}

TEST_CASE_FIXTURE(SplitRows, "rows: texts that are in both the training and the validation or test file are counted") {
  const std::string csv = folder / "csv";
  const Outcome same = weft(train("--steps 1 --validation " + csv + " --test " + csv));
  CHECK(contains(same.err, "rows of the validation set whose text also occurs in the training set: 60 of 60\n"));
  CHECK(contains(same.err, "rows of the test set whose text also occurs in the training set: 60 of 60\n"));
  folder.write("test", small_csv() + folder.read("test"));  // 60 known texts and 30 new ones
  CHECK(contains(weft(train("--steps 1 --validation " + csv + " --test " + (folder / "test"))).err,
                 "rows of the test set whose text also occurs in the training set: 60 of 90\n"));
  folder.write("test", folder.read("test").substr(small_csv().size()));
  const Outcome others = weft(train("--steps 1 --test " + (folder / "test")));
  CHECK_FALSE(contains(others.err, "also occurs in the training set"));
}

TEST_CASE_FIXTURE(SplitRows,
                  "rows: the test is measured once, at the end, with the best checkpoint, and chooses nothing") {
  const std::string test = "--test " + (folder / "test");
  const Outcome trained = weft(train("--steps 30 --eval-every 10 --lr 5e-3 " + test));
  CAPTURE(trained.err);
  REQUIRE(trained.code == 0);
  CHECK(contains(trained.err, "validation: 6 of 60 rows"));
  CHECK(contains(trained.err, "test: 30 rows of " + (folder / "test") + ", measured once, at the end\n"));
  CHECK(ends_as_promised(trained.out));
  const Outcome evaluated = weft("eval " + (folder / "run") + " --json --data " + (folder / "test"));
  const json expected = json::parse(evaluated.out);
  REQUIRE(tests().size() == 1);
  for (const char* name : {"step", "predicted", "accuracy", "macro F1"}) CHECK(tests()[0][name] == expected[name]);
  // this evaluation uses other batches
  CHECK(tests()[0]["test_loss"] == doctest::Approx(expected["loss"].get<double>()).epsilon(1e-6));
  CHECK(number_after(trained.out, "\ntest accuracy ") ==
        doctest::Approx(100 * expected["accuracy"].get<double>()).epsilon(1e-3));
  CHECK(number_after(trained.out, "\ntest macro F1 ") ==
        doctest::Approx(100 * expected["macro F1"].get<double>()).epsilon(1e-3));
  CHECK(std::isfinite(number_after(trained.out, "\ntest loss ")));
  CHECK(std::isfinite(number_after(trained.out, "\nvalidation accuracy ")));
  CHECK(std::isfinite(number_after(trained.out, "\nvalidation macro F1 ")));
  // A repeated run on other rows does not use the validation and test files of the first run.
  REQUIRE(weft(train("--steps 2 --validation " + (folder / "csv") + " " + test)).code == 0);
  folder.write("other", rotating(60, 2));
  const Outcome repeated = weft("train --config " + (folder / "run/run.json") + " --data " + (folder / "other") +
                                " --out " + (folder / "other-run"));
  CAPTURE(repeated.err);
  CHECK(repeated.code == 0);
  CHECK_FALSE(settings("other-run")["data"].contains("test"));
  CHECK(settings("other-run")["data"]["validation"] == 0.1);
  REQUIRE(weft(train("--steps 30 --eval-every 10 --lr 5e-3 " + test)).code == 0);
  // Other test rows change nothing else.
  const std::string best = folder.read("run/best/model.safetensors"),
                    first = folder.read("run/last/training.safetensors");
  folder.write("test", "1,,red\n2,,red\n3,,red\n");
  REQUIRE(weft(train("--steps 30 --eval-every 10 --lr 5e-3 " + test)).code == 0);
  CHECK(tests()[0]["predicted"] == 3);
  CHECK(folder.read("run/best/model.safetensors") == best);
  CHECK(folder.read("run/last/training.safetensors") == first);
  // A test file that can't be used is an error before training starts.
  folder.write("bad", "4,,red\n");
  for (const char* wrong : {"bad", "none"}) {
    CHECK(fails_with(weft(train(std::string("--steps 30 --test ") + (folder / wrong), "other")), 1, wrong));
    CHECK_FALSE(std::filesystem::exists(folder / "other/last"));
  }
}

TEST_CASE_FIXTURE(SplitRows, "rows: a stopped run is tested after it has ended, and a continued run is tested again") {
  const std::string test = "--test " + (folder / "test"), resume = "train --resume " + (folder / "run");
  CHECK(weft_with_signal(train("--steps 4000 --eval-every 1000 " + test), "step 200/", SIGINT).code == 128 + SIGINT);
  CHECK(tests().empty());
  REQUIRE(weft(train("--steps 20 --eval-every 10 " + test)).code == 0);
  const std::vector<json> first = tests();
  REQUIRE(first.size() == 1);
  const Outcome nothing = weft(resume);
  CHECK(contains(nothing.err, "nothing to do"));
  CHECK_FALSE(contains(nothing.out, "test"));
  CHECK(tests() == first);
  // The state of a run that was stopped during its test.
  std::string metrics = folder.read("run/metrics.jsonl");
  metrics.resize(metrics.rfind("\n{") + 1);
  folder.write("run/metrics.jsonl", metrics);
  REQUIRE(tests().empty());
  const Outcome tested = weft(resume);
  CHECK(tested.code == 0);
  CHECK(contains(tested.out, "test accuracy "));
  CHECK(tests() == first);
  const Outcome longer = weft(resume + " --steps 30");
  CHECK(contains(longer.out, "\ntest accuracy "));
  CHECK(tests().size() == 1);
}

TEST_CASE_FIXTURE(SplitRows, "a message names labels that are never predicted, with their numbers of rows") {
  std::string rows;
  for (int i = 0; i < 400; ++i) rows += (i % 40 == 7 ? "rare" : "usual") + (",,words " + std::to_string(i)) + "\n";
  folder.write("csv", rows);
  const Outcome trained = weft(train("--steps 30 --lr 1e-2 --test " + (folder / "csv")));
  CAPTURE(trained.err);
  CHECK(contains(trained.err, "weft: labels that are in the validation set but are never predicted: rare (1 row)\n"));
  CHECK(contains(trained.err, "weft: labels that are in the test set but are never predicted: rare (10 rows)\n"));
  CHECK(number_after(trained.out, "\nvalidation accuracy ") == 97.5);
  CHECK(number_after(trained.out, "\nvalidation macro F1 ") < 50);
  CHECK_FALSE(contains(trained.err, "usual ("));
}

TEST_CASE_FIXTURE(SplitRows, "the best checkpoint by another measure, which run.json and the state record") {
  const Outcome trained = weft(train("--steps 30 --eval-every 3 --lr 1e-2 --best-by f1"));
  CAPTURE(trained.out);
  CHECK(contains(trained.out, ", by macro F1 "));
  CHECK(settings()["training"]["best-by"] == "f1");
  CHECK(weft("train --resume " + (folder / "run") + " --steps 33").code == 0);
  CHECK(contains(trained.err, "accuracy "));
  CHECK(contains(trained.err, ", macro F1 "));
  folder.write("text", small_text());
  CHECK(fails_with(weft("train --arch gmlp --text " + (folder / "text") + " --best-by f1 --out " + (folder / "x")), 2,
                   "--best-by f1 applies only to --data"));
  CHECK(fails_with(weft(train("--best-by recall")), 2, "expected one of loss, accuracy, macro-f1, got \"recall\""));
}

TEST_CASE("texts: training, validation and test sets by position, where eval measures the test set, the last tenth") {
  const TemporaryFolder folder;
  folder.write("text", small_text());
  const std::string train = "train --arch gmlp --text " + (folder / "text") + sizes +
                            "--steps 20 --eval-every 10 --overwrite --out " + (folder / "run") + " ";
  const std::string eval = "eval " + (folder / "run") + " --text " + (folder / "text");
  const Outcome trained = weft(train);
  CAPTURE(trained.err);
  REQUIRE(trained.code == 0);
  CHECK(contains(trained.err, ", 80/10/10 % for training, validation and test (--split)\n"));
  const Outcome evaluated = weft(eval);
  CHECK(contains(evaluated.err, ": measured on the last 10 %, the test set of the run\n"));
  CHECK(number_after(trained.out, "\ntest loss ") == number_after(evaluated.out, "\ntest loss "));
  CHECK(number_after(trained.out, "\ntest perplexity ") == number_after(weft(eval).out, "\nperplexity "));
  CHECK(number_after(trained.out, "\nvalidation loss ") != number_after(trained.out, "\ntest loss "));
  CHECK(contains(folder.read("run/metrics.jsonl"), "\"test_loss\""));
  CHECK(weft("train --resume " + (folder / "run") + " --steps 22").code == 0);
  const Outcome without = weft(train + "--split 90/10/0");
  CHECK_FALSE(contains(without.out, "test "));
  CHECK(number_after(without.out, "\nvalidation loss ") ==
        number_after(weft(eval + " --checkpoint last").out, "\nvalidation loss "));
  CHECK(json::parse(folder.read("run/run.json"))["data"]["split"] == "90/10/0");
  const Outcome other = weft(train + "--split 60/10/30");  // eval measures the last 30 %
  CHECK(number_after(other.out, "\ntest loss ") == number_after(weft(eval).out, "\ntest loss "));
  CHECK(contains(weft(eval + " --all").out, "\ntest loss "));
  CHECK(fails_with(weft(train + "--split 80/20"), 2, "like 80/10/10 or 90/10/0, got \"80/20\""));
  folder.write("short", small_text().substr(0, 40));
  CHECK(fails_with(
      weft("train --arch gmlp --layers 1 --seq-len 36 --text " + (folder / "short") + " --out " + (folder / "x")), 1,
      "are too few for sequences of 36, with 80 % for training"));
}

}  // namespace weft::test
