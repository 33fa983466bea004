// Small runs of the tasks on rows, except for classifiers: their data, their options, and the numbers that they print.
#pragma once
#include <doctest/doctest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "command.h"
#include "temporary_folder.h"

namespace weft::test {

inline const std::string task_sizes =
    " --layers 1 --d-model 16 --seq-len 8 --min-count 1 --steps 120 --lr 1e-2 --threads 1 ";

// 60 rows whose labels follow from their words.
inline std::string rows_for(const std::string& task) {
  const std::vector<std::string> words{"red", "green", "blue", "cold", "warm"};
  std::string csv = "text,label\n";
  for (std::size_t i = 0; i < 60; ++i) {
    const std::size_t a = i % 5, b = i / 5 % 5;
    csv += words[a] + " " + words[b] + ",";
    if (task == "regression") csv += std::to_string(1000 + 100 * (a + b));
    else if (task == "multilabel") csv += a > 2 || b > 2 ? "color|weather" : "color";
    else csv += std::string(a > 2 ? "W" : "C") + (b > 2 ? " W" : " C");
    csv += "\n";
  }
  return csv;
}

// 400 rows with a wave of 12 rows per period, and a column without meaning.
inline std::string wave_table() {
  std::string csv = "day,height,other\n";
  for (int i = 0; i < 400; ++i)
    csv += std::to_string(i) + "," + std::to_string(50 + 10 * std::sin(2 * 3.14159265 * i / 12)) + "," +
           std::to_string(i * 37 % 11) + "\n";
  return csv;
}

// Pairs of texts on the same subject.
inline std::string pairs() {
  std::string csv = "title,body\n";
  const char* things[] = {"apple", "bridge", "candle", "dragon", "engine", "forest", "garden", "harbor"};
  for (int k = 0; k < 48; ++k)
    csv += std::string(things[k % 8]) + " " + std::to_string(k / 8) + ",a story of the " + things[k % 8] + " number " +
           std::to_string(k / 8) + "\n";
  return csv;
}

struct TaskRun {
  std::string task;
  std::string train;       // options of weft train for sizes and columns
  std::string data;        // options that name the data, for train and eval
  std::string metric;      // of eval, 1 at best
  std::string ask, asked;  // the command that answers, and its arguments after the folder of the run
};

// Writes the data of these runs into the folder.
inline std::vector<TaskRun> task_runs(const TemporaryFolder& folder) {
  std::vector<TaskRun> runs;
  folder.write("texts", "blue cold\nred green\n");
  for (const auto& [task, metric] : std::vector<std::pair<std::string, std::string>>{
           {"regression", "R2"}, {"multilabel", "micro F1"}, {"tagging", "accuracy"}}) {
    folder.write(task + ".csv", rows_for(task));
    runs.push_back({task, "--task " + task + task_sizes, "--data " + (folder / (task + ".csv")), metric, "predict",
                    (folder / "texts") + " --json"});
  }
  folder.write("wave.csv", wave_table());
  runs.push_back({"forecast",
                  "--frames height,other --target height --horizon 3 --season 12 --seq-len 24 --layers 1 --d-model 16 "
                  "--steps 200 --lr 5e-3 --threads 1 ",
                  "--data " + (folder / "wave.csv"), "R2", "predict", (folder / "wave.csv") + " --json"});
  folder.write("pairs.csv", pairs());
  runs.push_back({"retrieval", "--task retrieval --dimensions 12 --batch 16" + task_sizes,
                  "--data " + (folder / "pairs.csv") + " --columns text=body,label=title", "recall@1", "embed",
                  (folder / "pairs.csv") + " --columns text=title"});
  return runs;
}

// Returns all numbers in lines of JSON, in the order of the names of their fields.
inline std::vector<double> numbers_in(const std::string& lines) {
  std::vector<double> numbers;
  for (const std::string& line : lines_of(lines)) {
    const nlohmann::json flat = nlohmann::json::parse(line).flatten();
    for (const nlohmann::json& value : flat)
      if (value.is_number()) numbers.push_back(value.get<double>());
  }
  return numbers;
}

// Returns the relative difference of two lists, ‖a - b‖ / ‖b‖, or infinity if they have different sizes. Not all of b
// may be 0.
inline double difference(const std::vector<double>& a, const std::vector<double>& b) {
  if (a.size() != b.size()) return INFINITY;
  double squares = 0, of_b = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    squares += (a[i] - b[i]) * (a[i] - b[i]);
    of_b += b[i] * b[i];
  }
  return std::sqrt(squares / of_b);
}

}  // namespace weft::test
