// Tests of weft train, eval, predict, report and quantize for regression, multilabel and tagging.
#include <doctest/doctest.h>

#include <cmath>

#include "command.h"
#include "report/run.h"
#include "small_run.h"
#include "task_runs.h"
#include "temporary_folder.h"

namespace weft::test {
TEST_CASE("tasks on rows: train, eval, predict, report, quantize and folds") {
  struct Case {
    std::string task, metric, text, answer, json;
  };
  const Case cases[] = {
      {"regression", "test R2 ", "blue cold", "", R"({"value":1)"},
      {"multilabel", "test micro F1 100.00 %", "blue cold", "color\t", R"({"labels":[{"label":"color","probability":)"},
      {"tagging", "test accuracy 100.00 %", "blue cold", "blue\tC\ncold\tW\n\n",
       R"({"words":[{"word":"blue","tag":"C"},{"word":"cold","tag":"W"}]})"}};
  for (const Case& c : cases) {
    CAPTURE(c.task);
    const TemporaryFolder folder;
    folder.write("rows.csv", rows_for(c.task));
    const std::string rows = folder / "rows.csv", run = folder / "run";
    const std::string train = "train --arch gmlp --task " + c.task + " --data " + rows + task_sizes;
    const Outcome trained = weft(train + "--test " + rows + " --out " + run);
    CAPTURE(trained.err);
    CAPTURE(trained.out);
    REQUIRE(trained.code == 0);
    CHECK(contains(trained.out, c.metric));
    if (c.task == "regression") CHECK(number_after(trained.out, "test R2 ") > 0.9);
    CHECK(contains(trained.err, c.task + ": "));
    const Outcome measured = weft("eval " + run + " --data " + rows);
    CHECK(contains(measured.out, c.metric));
    folder.write("texts", c.text + "\n");
    const Outcome answer = weft("predict " + run + " " + (folder / "texts"));
    CHECK(answer.code == 0);
    CHECK(answer.out.rfind(c.answer, 0) == 0);
    if (c.task == "regression") CHECK(std::stod(answer.out) == doctest::Approx(1500).epsilon(0.02));
    const Outcome as_json = weft("predict " + run + " " + (folder / "texts") + " --json");
    CHECK(as_json.out.rfind(c.json, 0) == 0);
    CHECK(weft("predict " + run + " " + rows).code == 0);
    CHECK(fails_with(weft("predict " + run + " " + (folder / "texts") + " --columns text=text"), 2,
                     "texts: the given options apply only to tables"));
    if (c.task != "multilabel")
      CHECK(fails_with(weft("predict " + run + " " + (folder / "texts") + " --threshold 0.5"), 2,
                       "--threshold applies only to the task multilabel, but the checkpoint has the task " + c.task));
    const report::Json described = report::read_run(run, "run", {});
    CAPTURE(described["notes"].dump());
    CHECK(described["notes"].empty());
    CHECK(described["sample"].is_null());
    CHECK(described["predictions"].size() == 1);
    const std::string small_run = folder / "int8";
    CHECK(weft("quantize " + run + " --to int8 --out " + small_run + " --data " + rows).code == 0);
    const Outcome small = weft("predict " + small_run + " " + (folder / "texts"));
    CHECK(small.out.rfind(c.answer.substr(0, 2), 0) == 0);
    if (c.task == "regression") CHECK(std::stod(small.out) == doctest::Approx(1500).epsilon(0.03));
    const Outcome folds = weft(train + "--steps 3 --folds 2 --out " + (folder / "folds"));
    CAPTURE(folds.err);
    CHECK(folds.code == 0);
    CHECK(contains(folds.out, "\nfold"));
    CHECK(contains(folds.out, "deviation"));
    CHECK(fails_with(weft("classify " + run + " " + (folder / "texts")), 1, "got a model for the task " + c.task));
    CHECK(fails_with(weft(train + "--word-dropout 0.1 --out " + (folder / "x")), 2,
                     "--word-dropout applies only to the task classifier"));
    CHECK(weft("train --resume " + run + " --steps 130").code == 0);
  }
}

TEST_CASE("tasks on rows: predict reads the same columns as training") {
  const TemporaryFolder folder;
  std::string csv = "title,text,label\n";
  for (int i = 0; i < 40; ++i)
    csv +=
        std::string(i % 2 == 0 ? "low," : "high,") + "word " + std::to_string(i) + "," + std::to_string(i % 2) + "\n";
  folder.write("rows.csv", csv);
  folder.write("titles.csv", "title,text\nlow,word 3\n");
  folder.write("lines", "low\n");
  const std::string run = folder / "run";
  REQUIRE(weft("train --arch gmlp --task regression --data " + (folder / "rows.csv") + " --columns text=title" +
               task_sizes + "--out " + run)
              .code == 0);
  CHECK(weft("predict " + run + " " + (folder / "titles.csv")).out ==
        weft("predict " + run + " " + (folder / "lines")).out);
}

TEST_CASE("rare classes: --balance, --focal and --huber are settings of a run that must fit the task") {
  const TemporaryFolder folder;
  std::string csv = "text,label\n";
  for (int i = 0; i < 200; ++i)
    csv += std::string(i % 50 == 7 ? "cold winter " : "warm summer ") + std::to_string(i % 9) +
           (i % 50 == 7 ? ",rare\n" : ",often\n");
  folder.write("rows.csv", csv);
  const std::string rows = folder / "rows.csv", run = folder / "run";
  const std::string train = "train --arch gmlp --layers 0 --d-model 8 --seq-len 4 --data " + rows + " --validation " +
                            rows + " --steps 60 --warmup 0 --threads 1 ";
  const auto f1 = [&](const std::string& options) {
    const Outcome trained = weft(train + options + " --overwrite --out " + run);
    CAPTURE(trained.err);
    REQUIRE(trained.code == 0);
    return number_after(trained.out, "validation macro F1 ");
  };
  CHECK(f1("") < 50);  // the model never predicts the rare class
  CHECK(f1("--balance rows --lr 2e-2") == 100);
  CHECK(f1("--balance weights --lr 2e-2") == 100);
  CHECK(contains(folder.read("run/run.json"), R"("balance": "weights")"));
  CHECK(weft("train --resume " + run + " --steps 62").code == 0);
  CHECK(weft(train + "--epochs 1 --balance rows --out " + (folder / "epoch")).code == 2);  // has --steps and --epochs
  const Outcome epoch = weft("train --arch gmlp --layers 0 --d-model 8 --seq-len 4 --data " + rows + " --validation " +
                             rows + " --epochs 1 --batch 8 --balance rows --out " + (folder / "epoch"));
  CHECK(contains(folder.read("epoch/run.json"), R"("steps": 49)"));  // 2 · 196 rows
  const auto refused = [&](const std::string& options) { return weft(train + options + " --out " + (folder / "x")); };
  CHECK(fails_with(refused("--huber 1"), 1, "the task classifier has no Huber loss"));
  CHECK(fails_with(refused("--task retrieval --focal 1"), 2, "--focal can't be used with the task retrieval"));
  CHECK(fails_with(refused("--task multilabel --balance rows"), 1,
                   "the task multilabel does not support balancing by rows"));
  CHECK(fails_with(refused("--balance both"), 2, "none, weights, rows"));
  CHECK(fails_with(refused("--focal -1"), 2, "--focal"));
}

TEST_CASE("forecasts: train, eval, predict, report and resume with every architecture") {
  for (const std::string arch : {"gmlp", "tnn", "fnet"}) {
    CAPTURE(arch);
    const TemporaryFolder folder;
    folder.write("wave.csv", wave_table());
    const std::string table = folder / "wave.csv", run = folder / "run";
    const Outcome trained =
        weft("train --arch " + arch + " --data " + table +
             " --frames height,other --target height --horizon 3 --season 12 --seq-len 24 --layers 1 "
             "--d-model 16 --steps 200 --lr 5e-3 --threads 1 --out " +
             run);
    CAPTURE(trained.err);
    CAPTURE(trained.out);
    REQUIRE(trained.code == 0);
    CHECK(contains(trained.err, "400 rows, 80/10/10 % for training, validation and test, in this order\n"));
    CHECK(contains(trained.err, "forecast: 3 rows of height from 24 rows of height,other"));
    CHECK(number_after(trained.out, "test MAE ") < 2);
    CHECK(number_after(trained.out, "test MAE of the last value ") > 5);
    CHECK(number_after(trained.out, "test MAE of a season before ") < 1e-3);
    const Outcome measured = weft("eval " + run + " --data " + table);
    CHECK(number_after(measured.out, "test MAE ") == doctest::Approx(number_after(trained.out, "test MAE ")));
    const Outcome next = weft("predict " + run + " " + table);
    for (int step = 1; step <= 3; ++step)
      CHECK(std::abs(number_after(next.out, "height+" + std::to_string(step) + "\t") -
                     (50 + 10 * std::sin(2 * 3.14159265 * (399 + step) / 12))) < 6);
    CHECK(weft("predict " + run + " " + table + " --json").out.rfind("{\"height+1\":", 0) == 0);
    const report::Json described = report::read_run(run, "run", {});
    CAPTURE(described["notes"].dump());
    CHECK(described["notes"].empty());
    CHECK(weft("train --resume " + run + " --steps 202").code == 0);
    CHECK(fails_with(weft("predict " + run + " " + table + " --columns text=height"), 2,
                     "--columns can't be used for a forecast"));
    CHECK(fails_with(weft("predict " + run + " " + table + " --threshold 0.5"), 2,
                     "the checkpoint has the task forecast"));
    CHECK(fails_with(weft("predict " + run), 2, "give the file with the series to continue"));
    const std::string begun = "train --from " + run + " --data " + table +
                              " --target height --horizon 3 --steps 2 --out " + (folder / "begun") + " --frames ";
    CHECK(fails_with(weft(begun + "other,height"), 2,
                     "reads the columns height, other, but --frames names other columns"));
    CHECK(weft(begun + "height,other").code == 0);
  }
}

TEST_CASE("forecasts: mistakes are refused in one line") {
  const TemporaryFolder folder;
  folder.write("wave.csv", wave_table());
  const auto train = [&](const std::string& file, const std::string& options) {
    return weft("train --arch gmlp --layers 1 --d-model 8 --steps 2 --data " + (folder / file) + " --out " +
                (folder / "run") + " " + options);
  };
  const std::string good = "--frames height --target height ";
  CHECK(fails_with(train("wave.csv", "--frames height"), 2, "--frames needs --target"));
  CHECK(fails_with(train("wave.csv", "--frames height --target height,height"), 2, "expected distinct names"));
  CHECK(fails_with(train("wave.csv", "--task forecast"), 2,
                   "a forecast needs --frames, the columns of --data to read, and --target"));
  CHECK(fails_with(train("wave.csv", good + "--task regression"), 2, "--frames applies only to the task forecast"));
  CHECK(fails_with(train("wave.csv", good + "--test x"), 2, "--test can't be used with --frames"));
  CHECK(fails_with(train("wave.csv", "--frames depth --target height"), 1,
                   "expected a column \"depth\"; the columns are day, height, other"));
  CHECK(fails_with(train("wave.csv", "--frames height, --target height"), 2,
                   "expected distinct names, separated by commas"));
  CHECK(fails_with(train("wave.csv", good + "--seq-len 390"), 1, "400 rows are too few for windows of 390 + 1 rows"));
  CHECK(fails_with(train("wave.csv", good + "--seq-len 8 --season 9"), 1, "a season of at most the 8 rows"));
  folder.write("bad.csv", "height,x\n1,2\n2,abc\n");
  CHECK(
      fails_with(train("bad.csv", "--frames x --target x"), 1, "row 3: column \"x\": expected a number, got \"abc\""));
  folder.write("bad.csv", "height,x\n1,2\n2\n");
  CHECK(fails_with(train("bad.csv", "--frames x --target x"), 1, "row 3: expected 2 columns, got 1"));
  folder.write("bad.csv", "height,x\n1,nan\n");
  CHECK(fails_with(train("bad.csv", "--frames x --target x"), 1, "expected a number, got \"nan\""));
  folder.write("bad.csv", "height,x\n");
  CHECK(fails_with(train("bad.csv", "--frames x --target x"), 1, "has no rows"));
}

TEST_CASE("tasks on rows: bad targets are refused in one line") {
  const TemporaryFolder folder;
  folder.write("bad.csv", "text,label\nred,1\nblue,x\ngreen,2\n");
  folder.write("tags.csv", "text,label\nred blue,A\ngreen,A\nblue,A\n");
  const auto train = [&](const std::string& task, const std::string& file) {
    return weft("train --arch tnn --task " + task + " --data " + (folder / file) + task_sizes + "--out " +
                (folder / "run"));
  };
  CHECK(contains(train("regression", "bad.csv").err, "the label \"x\" of the row \"blue\": expected numbers"));
  CHECK(contains(train("tagging", "tags.csv").err, "a tag for each of 2 words, got 1"));
  CHECK(fails_with(weft("predict " + (folder / "none")), 1, ""));
}

}  // namespace weft::test
