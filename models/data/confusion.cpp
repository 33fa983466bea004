#include "weft/confusion.h"

#include <algorithm>
#include <new>
#include <stdexcept>
#include <string>

#include "weft/detail/out_of_memory.h"

namespace weft {
using namespace detail;

namespace {

double ratio(std::int64_t part, std::int64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

}  // namespace

std::vector<std::int64_t> predicted_labels(const Tensor& logits) {
  if (!logits.defined() || logits.rank() != 2 || logits.size(1) < 1 || !is_floating(logits.dtype()))
    throw Error("[predicted_labels] expected real logits (b, labels), got " +
                (logits.defined() ? dtype_name(logits.dtype()) + (" " + to_string(logits.shape())) : "none"));
  const auto x = raw::convert(logits, DType::f64).to_vector<double>();
  const auto labels = static_cast<std::ptrdiff_t>(logits.size(1));
  std::vector<std::int64_t> best;
  for (auto row = x.begin(); row != x.end(); row += labels) best.push_back(std::max_element(row, row + labels) - row);
  return best;
}

Confusion::Confusion(std::int64_t labels) try : labels_(labels) {
  if (labels < 1) throw Error("[Confusion] expected at least one label, got " + std::to_string(labels));
  actual_.resize(static_cast<std::size_t>(labels));
  predicted_.resize(static_cast<std::size_t>(labels));
} catch (const std::bad_alloc&) {
  fail_out_of_memory("Confusion");
} catch (const std::length_error&) {  // more than a vector can hold
  fail_out_of_memory("Confusion");
}

void Confusion::check(std::int64_t label) const {
  if (label < 0 || label >= labels_)
    throw Error("[Confusion] expected a label of 0 to " + std::to_string(labels_ - 1) + ", got " +
                std::to_string(label));
}

void Confusion::add(std::int64_t actual, std::int64_t predicted, std::int64_t rows) {
  check(actual);
  check(predicted);
  if (rows < 0) throw Error("[Confusion] expected at least 0 rows, got " + std::to_string(rows));
  if (rows == 0) return;
  counts_[{actual, predicted}] += rows;
  actual_[static_cast<std::size_t>(actual)] += rows;
  predicted_[static_cast<std::size_t>(predicted)] += rows;
  right_ += actual == predicted ? rows : 0;
  rows_ += rows;
}

void Confusion::add(const Tensor& logits, const Tensor& target) {
  const std::vector<std::int64_t> given = predicted_labels(logits);
  if (logits.size(1) != labels_ || !target.defined() || target.shape() != Shape{logits.size(0)})
    throw Error("[Confusion] expected logits (b, " + std::to_string(labels_) + ") and targets (b), got " +
                to_string(logits.shape()) + " and " + (target.defined() ? to_string(target.shape()) : "none"));
  const auto actual = target.to_vector<std::int64_t>();
  for (const std::int64_t label : actual) check(label);
  for (std::size_t row = 0; row < actual.size(); ++row) add(actual[row], given[row]);
}

std::int64_t Confusion::count(std::int64_t actual, std::int64_t predicted) const {
  check(actual);
  check(predicted);
  const auto found = counts_.find({actual, predicted});
  return found == counts_.end() ? 0 : found->second;
}

double Confusion::accuracy() const noexcept { return ratio(right_, rows_); }

LabelScores Confusion::scores(std::int64_t label) const {
  LabelScores scores;
  const std::int64_t right = count(label, label);
  scores.actual = actual_[static_cast<std::size_t>(label)];
  scores.predicted = predicted_[static_cast<std::size_t>(label)];
  scores.precision = ratio(right, scores.predicted);
  scores.recall = ratio(right, scores.actual);
  scores.f1 = ratio(2 * right, scores.actual + scores.predicted);
  return scores;
}

LabelScores Confusion::macro_average() const {
  LabelScores mean;
  std::int64_t occurring = 0;
  for (std::int64_t label = 0; label < labels_; ++label) {
    const LabelScores one = scores(label);
    occurring += one.actual + one.predicted > 0;
    mean.precision += one.precision;
    mean.recall += one.recall;
    mean.f1 += one.f1;
  }
  mean.actual = mean.predicted = rows_;
  if (occurring == 0) return mean;
  for (double* sum : {&mean.precision, &mean.recall, &mean.f1}) *sum /= static_cast<double>(occurring);
  return mean;
}

}  // namespace weft
