// Tests of weft report for regression, multilabel, tagging, forecasts, pictures and retrieval. Its figures agree with
// the run's metrics.
#include <doctest/doctest.h>

#include <cmath>

#include "command.h"
#include "idx_files.h"
#include "report/run.h"
#include "task_runs.h"
#include "temporary_folder.h"

namespace weft::test {
namespace {

using report::Json;

const std::string short_run = " --layers 1 --d-model 16 --steps 40 --lr 5e-3 --threads 1 ";

// Rows of 2 to 7 words. The words of a row determine its label for the task, except for some rows.
std::string table_for(const std::string& task) {
  const std::vector<std::string> words{"red", "green", "blue", "cold", "warm", "in", "at"};
  std::string csv = "text,label\n";
  for (std::size_t row = 0; row < 90; ++row) {
    std::string text, tags, sum;
    std::size_t a = 0;
    for (std::size_t i = 0; i < 2 + row % 6; ++i) {
      const std::size_t word = (row * 5 + i * i * 3 + row * i) % 7;
      const bool noise = (row + 3 * i) % 11 == 0;
      text += (i == 0 ? "" : " ") + words[word];
      tags += std::string(i == 0 ? "" : " ") + (word < 2              ? "B-C"
                                                : word == 2           ? "I-C"
                                                : word == 3 && !noise ? "B-W"
                                                                      : "O");
      a += word;
    }
    if (task == "regression") csv += text + "," + std::to_string(1000 + 100 * a) + " " + std::to_string(row % 5) + "\n";
    else if (task == "tagging") csv += text + "," + tags + "\n";
    else csv += text + "," + (a % 3 == 0 ? "|" : a > 9 ? "color|weather" : row % 20 == 3 ? "rare" : "color") + "\n";
  }
  return csv;
}

// The rows of a task, which are also its validation set.
struct TaskRows {
  explicit TaskRows(const std::string& task) {
    folder.write("rows.csv", table_for(task));
    const std::string file = folder / "rows.csv";
    options = "--task " + task + " --data " + file + " --validation " + file;
  }
  TemporaryFolder folder;
  std::string options;
};

struct Described {
  // Makes the report of a small run with these options.
  explicit Described(const TemporaryFolder& folder, const std::string& options, const report::RunOptions& of = {}) {
    const std::string run = folder / "run";
    const Outcome trained = weft("train --arch gmlp --overwrite --out " + run + short_run + options);
    CAPTURE(trained.err);
    REQUIRE(trained.code == 0);
    page = report::read_run(run, "run", of);
    CAPTURE(page["notes"].dump());
    CHECK(page["notes"].empty());
  }
  const Json& figure(std::size_t i) const { return page["predictions"].at(i); }
  // Returns a metric of the shown checkpoint, as the run measured it.
  doctest::Approx metric(const std::string& name) const {
    return doctest::Approx(page["metrics"]["best"].at(name).get<double>()).epsilon(1e-5);
  }
  Json page;
};

double mean_of(const Json& list, const std::string& field) {
  double sum = 0;
  for (const Json& each : list) sum += each.at(field).get<double>();
  return sum / static_cast<double>(list.size());
}

}  // namespace

TEST_CASE("report of a multilabel run: its figures have the run's micro F1 and average precision") {
  const TaskRows rows("multilabel");
  const Described run(rows.folder, rows.options + " --seq-len 8");
  const Json& figure = run.figure(0);
  CHECK(figure["kind"] == "precision_recall");
  CHECK(figure["rows"] == 90);
  CHECK(figure["of"] == 90);
  CHECK(figure["micro"]["f1"].get<double>() == run.metric("micro F1"));
  CHECK(mean_of(figure["labels"], "f1") == run.metric("macro F1"));
  CHECK(figure["mean_average_precision"].get<double>() == run.metric("average precision"));
  CHECK(figure["micro"]["best"]["f1"].get<double>() >= figure["micro"]["f1"].get<double>());
  CHECK(figure["curves"].size() == figure["labels"].size() + 1);
  for (std::size_t i = 2; i < figure["curves"].size(); ++i) {  // the scores must increase
    const auto rows_of = [&](std::size_t k) {
      return figure["labels"][figure["curves"][k]["label"].get<std::size_t>()]["actual"].get<int>();
    };
    CHECK(rows_of(i - 1) <= rows_of(i));
  }
}

TEST_CASE("report of a regression: its figures have the run's MAE and R2, also with Huber's loss") {
  const TaskRows rows("regression");
  const std::string options = rows.options + " --seq-len 8 --huber 1";
  const Described run(rows.folder, options);
  const Json& targets = run.figure(0)["targets"];
  CHECK(run.figure(0)["kind"] == "residuals");
  CHECK(targets.size() == 2);
  CHECK(targets[0]["name"] == "value 1");
  CHECK(mean_of(targets, "mae") == run.metric("MAE"));
  CHECK(mean_of(targets, "r2") == run.metric("R2"));
  CHECK(targets[0]["pairs"] == 90);
  double sum = 0;
  for (const Json& value : targets[0]["actual"]) sum += value.get<double>();
  double wanted = 0;
  for (std::size_t row = 0; row < 90; ++row)
    for (std::size_t i = 0; i < 2 + row % 6; ++i)
      wanted += 100.0 * static_cast<double>((row * 5 + i * i * 3 + row * i) % 7) + (i == 0 ? 1000 : 0);
  CHECK(sum == wanted);
  report::RunOptions few;
  few.sample.rows = 30;
  const Described some(rows.folder, options, few);
  CHECK(some.figure(0)["rows"] == 30);
  CHECK(some.figure(0)["of"] == 90);
}

TEST_CASE("report of a tagger: spans give the run's span F1 and belong to their sentences") {
  const TaskRows rows("tagging");
  const Described run(rows.folder, rows.options + " --seq-len 6");
  const Json& figure = run.figure(0);
  CHECK(figure["kind"] == "spans");
  CHECK(figure["rows"] == 90);
  CHECK(figure["micro"]["f1"].get<double>() == run.metric("span F1"));
  CHECK(figure["micro"]["f1"].get<double>() < 1);
  CHECK(figure["sentences"].size() >= 6);
  for (const Json& sentence : figure["sentences"]) {
    CHECK(sentence["words"].size() <= 6);  // the model reads at most six words
    std::size_t colors = 0;                // "red" and "green" start a span C anywhere
    for (const Json& word : sentence["words"]) colors += word == "red" || word == "green";
    std::size_t begun = 0;
    for (const Json& span : sentence["actual"])
      begun += sentence["words"].at(span[0].get<std::size_t>()) == "red" ||
               sentence["words"].at(span[0].get<std::size_t>()) == "green";
    CHECK(begun == colors);
  }
}

TEST_CASE("report of a forecast: windows come from the table, and errors match the run's MAE") {
  const TemporaryFolder folder;
  std::string csv = "height,other\n";
  for (int i = 0; i < 400; ++i) csv += std::to_string(50 + 10 * std::sin(i * 0.5)) + "," + std::to_string(i) + "\n";
  folder.write("wave.csv", csv);
  const std::string options = "--seq-len 24 --season 12 --horizon 3 --data " + (folder / "wave.csv");
  const Described run(folder, options + " --frames other,height --target height");
  const Json &figure = run.figure(0), &target = figure["targets"][0];
  CHECK(figure["kind"] == "forecasts");
  CHECK(figure["rows"] == 38);  // 40 rows to predict, 3 at a time
  CHECK(figure["of"] == 38);
  const auto mean = [](const Json& steps) {
    return (steps[0].get<double>() + steps[1].get<double>() + steps[2].get<double>()) / 3;
  };
  CHECK(mean(target["mae"]) == run.metric("MAE"));
  CHECK(mean(target["mae_last"]) == run.metric("MAE of the last value"));
  CHECK(mean(target["mae_season"]) == run.metric("MAE of a season before"));
  const Json& window = figure["windows"][1];
  const int first = 320 + window["number"].get<int>() - 1;  // the row of the first predicted number
  CHECK(window["history"].size() == 24);
  CHECK(window["history"][0].get<double>() == doctest::Approx(50 + 10 * std::sin((first - 24) * 0.5)).epsilon(1e-4));
  CHECK(window["actual"][2].get<double>() == doctest::Approx(50 + 10 * std::sin((first + 2) * 0.5)).epsilon(1e-4));
  const Json& residuals = run.figure(1)["targets"][0];
  CHECK(residuals["mae"].get<double>() == run.metric("MAE"));
  CHECK(residuals["r2"].get<double>() == run.metric("R2"));
  report::RunOptions few;
  few.sample.rows = 20;
  const Described unread(folder, options + " --frames other --target height,other", few);
  CHECK(unread.figure(0)["rows"] == 32);  // a whole batch
  CHECK(unread.figure(0)["of"] == 38);
  CHECK(unread.figure(0)["targets"][0]["mae_last"].is_null());
  CHECK(unread.figure(0)["targets"][1]["mae_last"].size() == 3);
}

TEST_CASE("report of pictures: pictures come from the file, and the number of correct ones matches the run") {
  const TemporaryFolder folder;
  const std::string pictures = write_pictures(folder, "train", 0, 60),
                    measured = write_pictures(folder, "other", 60, 30);
  const Described run(folder, "--steps 80 --patch 2 --data " + pictures + " --validation " + measured);
  CHECK(run.figure(0)["kind"] == "precision_recall");
  CHECK(run.figure(0)["micro"]["actual"] == 30);
  const Json& grid = run.figure(1);
  CHECK(grid["kind"] == "pictures");
  CHECK(grid["right"].get<double>() / 30 == run.metric("accuracy"));
  CHECK(grid["right"].get<int>() > 20);  // always predicting one label gives 10 correct ones
  CHECK(run.figure(0)["mean_average_precision"].get<double>() > 0.7);
  CHECK(grid["right"].get<int>() + grid["wrong"].get<int>() == 30);
  for (const Json& each : grid["pictures"]) {
    int found = -1;
    for (int k = 60; k < 90; ++k) {
      const std::string pixels = small_picture(k);
      if (each["picture"]["pixels"] == report::base64({pixels.begin(), pixels.end()})) found = k;
    }
    REQUIRE(found >= 0);
    CHECK(each["actual"] == found % 3);
  }
}

TEST_CASE("report of a retrieval run: recall@k has the run's recall@1 and recall@10") {
  const TemporaryFolder folder;
  folder.write("pairs.csv", pairs());
  const std::string file = folder / "pairs.csv";
  const std::string options = "--task retrieval --dimensions 4 --batch 16 --seq-len 8 --steps 20 --data " + file +
                              " --validation " + file + " --columns text=body,label=title";
  const Described run(folder, options);
  const Json& figure = run.figure(0);
  CHECK(figure["kind"] == "retrieval");
  CHECK(figure["task"] == "retrieval");
  CHECK(figure["rows"] == 48);
  CHECK(figure["of"] == 48);
  REQUIRE(figure["recall"].size() == 48);
  CHECK(figure["recall"][0].get<double>() == run.metric("recall@1"));
  CHECK(figure["recall"][9].get<double>() == run.metric("recall@10"));
  CHECK(figure["recall"][9].get<double>() < 1);
  CHECK(figure["recall"][47] == 1);
  CHECK(figure["chance"][11] == 0.25);
  report::RunOptions few;
  few.sample.rows = 20;
  const Described some(folder, options, few);
  CHECK(some.figure(0)["rows"] == 20);
  CHECK(some.figure(0)["of"] == 48);
  CHECK(some.figure(0)["chance"].size() == 20);
}

}  // namespace weft::test
