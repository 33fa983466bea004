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

// Prints what the exchange between ranks cost, as rank 0 measured it.
void print_exchange(const weft::RunResult& result, std::int64_t steps) {
  char text[128];
  std::snprintf(text, sizeof text, "gradients sent %.2f MB a step, waited for %.2f ms a step\n",
                static_cast<double>(result.bytes_sent) / 1e6 / static_cast<double>(steps),
                1e3 * result.seconds_waited / static_cast<double>(steps));
  std::cout << text;
}

std::string percent(double part) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2f %%", 100 * part);
  return text;
}

void print_best(const weft::Trainer& trainer) {
  if (!trainer.best()) return;
  std::cout << "best " << as_text(trainer.best()->loss) << " at step " << trainer.best()->step;
  if (trainer.best_by() != "loss") std::cout << ", by " << trainer.best_by() << " " << percent(trainer.best()->metric);
  std::cout << "\n";
}

// A mean over all rows hides a label that is never predicted.
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
  if (!never.empty()) std::cerr << "weft: never predicted in " << where << ": " << some_labels(never) << std::endl;
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
    std::cerr << "weft: stopped before the test was measured (--resume " << o.out << " measures it)" << std::endl;
  return test;
}

void print_test(const weft::TestResult& test, const Training& training) {
  char text[128];
  std::snprintf(text, sizeof text, "test loss %.4f at step %lld\n", test.evaluation.loss,
                static_cast<long long>(test.step));
  std::cout << text;
  for (const weft::Metric& metric : test.evaluation.metrics)
    std::cout << "test " << metric.name << " " << percent(metric.value) << "\n";
  if (const auto bits = test.evaluation.bits_per_byte()) {
    std::snprintf(text, sizeof text, "test perplexity %.4f\ntest bits per byte %.4f\n", test.evaluation.perplexity(),
                  *bits);
    std::cout << text;
  }
  warn_of_never_predicted("the test", test.evaluation, training.data->labels());
}

void print_result(const weft::Trainer& trainer, const weft::RunResult& result, const TrainOptions& o,
                  const Training& training, std::int64_t steps, const std::optional<weft::TestResult>& test) {
  if (result.out_of_patience)
    std::cerr << "weft: ended after step " << trainer.steps_done() << ": no "
              << (trainer.best_by() == "loss" ? "lower" : "higher") << " validation " << trainer.best_by() << " in "
              << o.patience << " validations" << std::endl;
  std::cout << "checkpoint " << o.out << "\nparameters " << weft::parameter_count(training.model->parameters())
            << "\ntime " << as_time(result.seconds) << "\n";
  print_best(trainer);
  if (o.ranks != nullptr && steps > 0) print_exchange(result, steps);
  if (test) print_test(*test, training);
  print_evaluation(*result.evaluation, "validation");
  warn_of_never_predicted("validation", *result.evaluation, training.data->labels());
  std::cout << "tokens/s " << static_cast<std::int64_t>(result.tokens_per_second) << "\n";
  print_memory();
}

void print_folds(const std::vector<weft::TestResult>& tests) {
  char text[128];
  std::cout << "\nfold       test accuracy   test macro F1\n";
  const auto print = [&](const char* name, double accuracy, double f1) {
    std::snprintf(text, sizeof text, "%-9s %12.2f %% %13.2f %%\n", name, 100 * accuracy, 100 * f1);
    std::cout << text;
  };
  std::vector<double> accuracies, f1s;
  for (const weft::TestResult& test : tests) {
    accuracies.push_back(test.evaluation.metric("accuracy"));
    f1s.push_back(test.evaluation.metric("macro F1"));
    print(std::to_string(accuracies.size()).c_str(), accuracies.back(), f1s.back());
  }
  const Spread accuracy = spread_of(accuracies), f1 = spread_of(f1s);
  print("mean", accuracy.mean, f1.mean);
  print("deviation", accuracy.deviation, f1.deviation);
}
