#include <algorithm>
#include <cmath>

#include "report/predictions.h"

namespace report {
namespace {

constexpr std::size_t most_pairs = 1000, most_bins = 40, most_drawn_targets = 8;
// If there are at least this many residuals, a histogram leaves out 0.5 % of them at each end.
constexpr std::size_t many_residuals = 200;

// Returns 1 - Σ (y - ŷ)² / Σ (y - mean of y)² of an output, like the metric R2. If all y are equal, returns 1 if the
// predictions are exact, else 0.
double r2_of(const Predictions& rows, std::size_t output) {
  double mean = 0, residual = 0, total = 0;
  for (std::size_t row = 0; row < rows.rows(); ++row) mean += rows.actual[row * rows.outputs + output];
  mean /= static_cast<double>(rows.rows());
  for (std::size_t row = 0; row < rows.rows(); ++row) {
    const double y = rows.actual[row * rows.outputs + output], p = rows.predicted[row * rows.outputs + output];
    residual += (y - p) * (y - p);
    total += (y - mean) * (y - mean);
  }
  return total > 0 ? 1 - residual / total : (residual == 0 ? 1 : 0);
}

// Returns the smallest number that is at least x > 0 and is 1, 2 or 5 times a power of ten.
double round_up(double x) {
  const double power = std::pow(10, std::floor(std::log10(x)));
  for (const double part : {1, 2, 5})
    if (part * power >= x * (1 - 1e-9)) return part * power;
  return 10 * power;
}

// Returns a histogram whose bins have a round width. If 0 is in its range, a bin begins at 0.
Json histogram(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t cut = values.size() >= many_residuals ? values.size() / 200 : 0;
  const double low = values[cut], high = values[values.size() - 1 - cut];
  const double bins =
      std::clamp(2 * std::sqrt(static_cast<double>(values.size())), 8.0, static_cast<double>(most_bins));
  const double spread = high > low ? high - low : std::max(std::abs(low), 1e-6);
  const double width = round_up(spread / bins), from = std::floor(low / width);
  std::vector<double> counts(static_cast<std::size_t>(std::floor(high / width) - from) + 1);
  double outside = 0;
  for (const double value : values) {
    const double bin = std::floor(value / width) - from;
    if (bin < 0 || bin >= static_cast<double>(counts.size())) ++outside;
    else ++counts[static_cast<std::size_t>(bin)];
  }
  return {{"from", number(from * width)},
          {"width", number(width)},
          {"counts", numbers(counts)},
          {"outside", number(outside)}};
}

}  // namespace

Json residuals(const std::vector<PredictedTarget>& targets, const Predictions& rows) {
  Json figure{{"kind", "residuals"}, {"rows", rows.rows()}, {"targets", Json::array()}};
  for (const PredictedTarget& target : targets) {
    std::vector<double> actual, predicted, errors;
    double absolute = 0, squares = 0, r2 = 0;
    for (std::size_t row = 0; row < rows.rows(); ++row)
      for (const std::size_t output : target.outputs) {
        actual.push_back(rows.actual[row * rows.outputs + output]);
        predicted.push_back(rows.predicted[row * rows.outputs + output]);
        errors.push_back(actual.back() - predicted.back());
        absolute += std::abs(errors.back());
        squares += errors.back() * errors.back();
      }
    for (const std::size_t output : target.outputs) r2 += r2_of(rows, output);
    const auto count = static_cast<double>(errors.size());
    Json drawn{{"name", target.name},
               {"mae", number(absolute / count)},
               {"rmse", number(std::sqrt(squares / count))},
               {"r2", number(r2 / static_cast<double>(target.outputs.size()))}};
    if (figure["targets"].size() < most_drawn_targets) {
      drawn["pairs"] = errors.size();
      drawn["actual"] = drawn["predicted"] = Json::array();
      for (const std::size_t i : evenly_spaced(errors.size(), most_pairs)) {
        drawn["actual"].push_back(number(actual[i]));
        drawn["predicted"].push_back(number(predicted[i]));
      }
      drawn["histogram"] = histogram(errors);
    }
    figure["targets"].push_back(drawn);
  }
  return figure;
}

}  // namespace report
