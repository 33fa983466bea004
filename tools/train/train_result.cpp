#include "train/train_result.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iostream>

#include "console/number.h"
#include "console/progress.h"
#include "console/report.h"
#include "train/divided_rows.h"
#include "train/stop_signal.h"

namespace {

// Prints the cost of the exchange between ranks, measured on rank 0.
void print_exchange(const weft::RunResult& result, std::int64_t steps) {
  char text[128];
  std::snprintf(text, sizeof text, "gradients sent %.2f MB a step, waited for %.2f ms a step\n",
                static_cast<double>(result.bytes_sent) / 1e6 / static_cast<double>(steps),
                1e3 * result.seconds_waited / static_cast<double>(steps));
  std::cout << text;
}

// Prints the share of the time that steps waited for batches.
void print_data_wait(double share) {
  char text[64];
  std::snprintf(text, sizeof text, "waited for data %.1f %% of the time\n", 100 * share);
  std::cout << text;
}

void print_best(const weft::Trainer& trainer, weft::Metric best_by) {
  if (!trainer.best()) return;
  std::cout << "best " << as_text(trainer.best()->loss) << " at step " << trainer.best()->step;
  best_by.value = trainer.best()->metric;
  if (best_by.name != "loss") std::cout << ", by " << best_by.name << " " << metric_text(best_by);
  std::cout << "\n";
}

// Prints a warning about labels that are never predicted, because a mean over all rows hides them.
void warn_of_never_predicted(const char* where, const weft::Evaluation& evaluation,
                             const std::vector<std::string>& labels) {
  if (!evaluation.confusion) return;
  std::vector<std::string> never;
  for (std::int64_t i = 0; i < evaluation.confusion->labels(); ++i) {
    const weft::LabelScores scores = evaluation.confusion->scores(i);
    if (scores.actual > 0 && scores.predicted == 0)
      never.push_back(labels[static_cast<std::size_t>(i)] + " (" + grouped(scores.actual) +
                      (scores.actual == 1 ? " row)" : " rows)"));
  }
  if (!never.empty())
    std::cerr << "weft: labels that are in " << where << " but are never predicted: " << some_labels(never)
              << std::endl;
}

struct Spread {
  double mean, deviation;
};

Spread spread_of(const std::vector<double>& values) {
  const auto n = static_cast<double>(values.size());
  double sum = 0, squares = 0;
  for (const double value : values) sum += value;
  for (const double value : values) squares += (value - sum / n) * (value - sum / n);
  return {sum / n, std::sqrt(squares / (n - 1))};
}

}  // namespace

std::optional<weft::TestResult> measure_test(const weft::RunFolder& folder, const Training& training,
                                             const TrainOptions& o) {
  if (!training.test) return std::nullopt;
  Count count("test: batch", training.test->validation_batches());
  const auto stop = [&] {
    count.next();
    return stop_signal() != 0;
  };
  const std::optional<weft::TestResult> test = weft::test_run(folder, *training.test, stop);
  count.clear();
  if (!test)
    std::cerr << "weft: stopped before the test set was measured (--resume " << o.out << " measures it)" << std::endl;
  return test;
}

void print_test(const weft::TestResult& test, const Training& training) {
  char text[128];
  std::snprintf(text, sizeof text, "test loss %.4f at step %lld\n", test.evaluation.loss,
                static_cast<long long>(test.step));
  std::cout << text;
  for (const weft::Metric& metric : test.evaluation.metrics)
    std::cout << "test " << metric.name << " " << metric_text(metric) << "\n";
  if (const auto bits = test.evaluation.bits_per_byte()) {
    std::snprintf(text, sizeof text, "test perplexity %.4f\ntest bits per byte %.4f\n", test.evaluation.perplexity(),
                  *bits);
    std::cout << text;
  }
  warn_of_never_predicted("the test set", test.evaluation, training.data->labels());
}

void print_result(const weft::Trainer& trainer, const weft::RunResult& result, const TrainOptions& o,
                  const Training& training, std::int64_t steps, const std::optional<weft::TestResult>& test) {
  if (result.out_of_patience)
    std::cerr << "weft: ended after step " << trainer.steps_done() << ": no "
              << (training.best_by.lower_is_better ? "lower" : "higher") << " validation " << training.best_by.name
              << " in " << o.patience << " validations" << std::endl;
  std::cout << "checkpoint " << o.out << "\nparameters " << weft::parameter_count(training.model->parameters())
            << "\ntime " << as_time(result.seconds) << "\n";
  print_best(trainer, training.best_by);
  if (o.ranks != nullptr && steps > 0) print_exchange(result, steps);
  if (test) print_test(*test, training);
  print_evaluation(*result.evaluation, "validation");
  warn_of_never_predicted("the validation set", *result.evaluation, training.data->labels());
  std::cout << "tokens/s " << static_cast<std::int64_t>(result.tokens_per_second) << "\n";
  if (steps > 0) print_data_wait(result.data_wait);
  print_memory();
}

// The table has a column for each metric.
void print_folds(const std::vector<weft::TestResult>& tests) {
  const std::vector<weft::Metric>& metrics = tests.front().evaluation.metrics;
  const auto print = [](const std::string& name, const std::vector<std::string>& cells) {
    std::cout << name << std::string(name.size() < 10 ? 10 - name.size() : 1, ' ');
    for (const std::string& cell : cells)
      std::cout << std::string(cell.size() < 16 ? 16 - cell.size() : 1, ' ') << cell;
    std::cout << "\n";
  };
  std::vector<std::string> head, means, deviations;
  for (const weft::Metric& metric : metrics) {
    std::vector<double> values;
    for (const weft::TestResult& test : tests) values.push_back(test.evaluation.metric(metric.name));
    const Spread spread = spread_of(values);
    weft::Metric shown = metric;
    head.push_back("test " + metric.name);
    shown.value = spread.mean;
    means.push_back(metric_text(shown));
    shown.value = spread.deviation;
    deviations.push_back(metric_text(shown));
  }
  std::cout << "\n";
  print("fold", head);
  for (std::size_t fold = 0; fold < tests.size(); ++fold) {
    std::vector<std::string> cells;
    for (const weft::Metric& metric : tests[fold].evaluation.metrics) cells.push_back(metric_text(metric));
    print(std::to_string(fold + 1), cells);
  }
  print("mean", means);
  print("deviation", deviations);
}
