#include "data/meters.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/bytes.h"
#include "weft/confusion.h"
#include "weft/spans.h"

namespace weft::detail {
namespace {

double ratio(double part, double whole) { return whole == 0 ? 0 : part / whole; }

std::vector<double> numbers_of(const Tensor& x) { return raw::convert(x, DType::f64).to_vector<double>(); }

class ConfusionMeter : public Meter {
 public:
  explicit ConfusionMeter(std::int64_t labels) : confusion_(labels) {}
  void add(const Tensor& output, const Batch& batch) override { confusion_.add(output, batch.target); }
  std::vector<Metric> metrics() const override {
    return {{"accuracy", confusion_.accuracy()}, {"macro F1", confusion_.macro_average().f1}};
  }
  std::optional<Confusion> confusion() const override { return confusion_; }
  std::optional<std::string> counts() const override {
    std::vector<std::int64_t> all;  // actual, predicted, rows
    for (const auto& [labels, rows] : confusion_.counts()) all.insert(all.end(), {labels.first, labels.second, rows});
    return bytes_of(all);
  }
  void add_counts(const std::string& counts) override {
    const auto all = values_of<std::int64_t>(counts, counts.size() / sizeof(std::int64_t));
    for (std::size_t i = 0; i + 2 < all.size(); i += 3) confusion_.add(all[i], all[i + 1], all[i + 2]);
  }

 private:
  Confusion confusion_;
};

// R² of an output: 1 - Σ (y - ŷ)² / Σ (y - mean of y)². If all y are equal, it is 1 for exact predictions and 0
// otherwise, as in scikit-learn.
class RegressionMeter : public Meter {
 public:
  explicit RegressionMeter(std::int64_t outputs) : predicted_(static_cast<std::size_t>(outputs)), actual_(predicted_) {}

  void add(const Tensor& output, const Batch& batch) override {
    const auto given = numbers_of(output), wanted = numbers_of(batch.target);
    for (std::size_t i = 0; i < given.size(); ++i) {
      predicted_[i % predicted_.size()].push_back(given[i]);
      actual_[i % actual_.size()].push_back(wanted[i]);
    }
  }

  std::vector<Metric> metrics() const override {
    double absolute = 0, r2 = 0, count = 0;
    for (std::size_t k = 0; k < actual_.size(); ++k) {
      const std::vector<double>&y = actual_[k], &p = predicted_[k];
      const double rows = static_cast<double>(y.size());
      const double mean = ratio(std::accumulate(y.begin(), y.end(), 0.0), rows);
      double residual = 0, total = 0;
      for (std::size_t i = 0; i < y.size(); ++i) {
        absolute += std::abs(y[i] - p[i]);
        residual += (y[i] - p[i]) * (y[i] - p[i]);
        total += (y[i] - mean) * (y[i] - mean);
      }
      count += rows;
      r2 += total > 0 ? 1 - residual / total : (residual == 0 ? 1 : 0);
    }
    return {{"MAE", ratio(absolute, count), true, false},
            {"R2", r2 / static_cast<double>(actual_.size()), false, false}};
  }

 private:
  std::vector<std::vector<double>> predicted_, actual_;  // by output
};

// Sorts the rows by decreasing score, and returns the mean precision over the positions of the rows that have the
// label. Rows with equal scores count together, as in scikit-learn's average_precision_score.
double average_precision(std::vector<std::pair<double, bool>> scored) {
  std::sort(scored.begin(), scored.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  double right = 0, sum = 0;
  for (std::size_t i = 0; i < scored.size();) {
    std::size_t end = i;
    double found = 0;
    for (; end < scored.size() && scored[end].first == scored[i].first; ++end) found += scored[end].second;
    right += found;
    sum += found * right / static_cast<double>(end);
    i = end;
  }
  return ratio(sum, right);
}

class MultilabelMeter : public Meter {
 public:
  explicit MultilabelMeter(std::int64_t labels) : scored_(static_cast<std::size_t>(labels)) {}

  void add(const Tensor& output, const Batch& batch) override {
    const auto logits = numbers_of(output), wanted = numbers_of(batch.target);
    for (std::size_t i = 0; i < logits.size(); ++i)
      scored_[i % scored_.size()].emplace_back(logits[i], wanted[i] > 0.5);
  }

  // A label is predicted if its probability is above a half. The macro averages are over the labels that occur.
  std::vector<Metric> metrics() const override {
    double right = 0, both = 0, macro = 0, precision = 0, occurring = 0;
    for (const auto& label : scored_) {
      double hits = 0, given = 0, actual = 0;
      for (const auto& [logit, has] : label) {
        hits += logit > 0 && has;
        given += logit > 0;
        actual += has;
      }
      right += hits;
      both += given + actual;
      if (actual == 0) continue;
      ++occurring;
      macro += ratio(2 * hits, given + actual);
      precision += average_precision(label);
    }
    return {{"micro F1", ratio(2 * right, both)},
            {"macro F1", ratio(macro, occurring)},
            {"average precision", ratio(precision, occurring)}};
  }

 private:
  std::vector<std::vector<std::pair<double, bool>>> scored_;  // by label: logit, whether the row has it
};

class TaggingMeter : public Meter {
 public:
  explicit TaggingMeter(std::vector<std::string> tags)
      : tags_(std::move(tags)), confusion_(std::ssize(tags_)), has_spans_(are_spans(tags_)) {}

  void add(const Tensor& output, const Batch& batch) override {
    const std::int64_t rows = output.size(0), n = output.size(1), tags = output.size(2);
    const auto given = predicted_labels(reshape(raw::contiguous(output), {rows * n, tags}));
    const auto wanted = batch.target.to_vector<std::int64_t>();
    for (std::int64_t row = 0; row < rows; ++row) {
      std::vector<std::string> predicted, actual;
      for (auto i = static_cast<std::size_t>(row * n); i < static_cast<std::size_t>((row + 1) * n); ++i) {
        if (wanted[i] < 0) continue;
        confusion_.add(wanted[i], given[i]);
        predicted.push_back(tags_[static_cast<std::size_t>(given[i])]);
        actual.push_back(tags_[static_cast<std::size_t>(wanted[i])]);
      }
      if (has_spans_) add_spans(spans_of(predicted), spans_of(actual));
    }
  }

  std::vector<Metric> metrics() const override {
    std::vector<Metric> all{{"accuracy", confusion_.accuracy()}, {"macro F1", confusion_.macro_average().f1}};
    if (has_spans_) all.push_back({"span F1", ratio(2 * right_, predicted_ + actual_)});
    return all;
  }
  std::optional<Confusion> confusion() const override { return confusion_; }

 private:
  void add_spans(const std::vector<Span>& predicted, const std::vector<Span>& actual) {
    predicted_ += static_cast<double>(predicted.size());
    actual_ += static_cast<double>(actual.size());
    for (const Span& span : predicted) right_ += std::find(actual.begin(), actual.end(), span) != actual.end();
  }

  std::vector<std::string> tags_;
  Confusion confusion_;
  bool has_spans_;
  double right_ = 0, predicted_ = 0, actual_ = 0;  // spans
};

}  // namespace

std::unique_ptr<Meter> confusion_meter(std::int64_t labels) { return std::make_unique<ConfusionMeter>(labels); }
std::unique_ptr<Meter> regression_meter(std::int64_t outputs) { return std::make_unique<RegressionMeter>(outputs); }
std::unique_ptr<Meter> multilabel_meter(std::int64_t labels) { return std::make_unique<MultilabelMeter>(labels); }
std::unique_ptr<Meter> tagging_meter(const std::vector<std::string>& tags) {
  return std::make_unique<TaggingMeter>(tags);
}

}  // namespace weft::detail
