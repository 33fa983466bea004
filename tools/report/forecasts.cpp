#include <algorithm>
#include <cmath>

#include "report/predictions.h"

namespace report {
namespace {

constexpr std::size_t most_windows = 6, most_shown_targets = 4;

// Returns the numbers of target k. The list `all` has `size` consecutive numbers for each target.
std::vector<double> part_for(const std::vector<double>& all, std::size_t k, std::size_t size) {
  return {all.begin() + static_cast<std::ptrdiff_t>(k * size),
          all.begin() + static_cast<std::ptrdiff_t>((k + 1) * size)};
}

// Returns the mean of |actual - guess| over all windows, for each step of target k.
template <class Guess>
Json mean_errors(const std::vector<ForecastWindow>& windows, std::size_t k, std::size_t horizon, const Guess& guess) {
  std::vector<double> mean(horizon);
  for (const ForecastWindow& window : windows)
    for (std::size_t step = 0; step < horizon; ++step)
      mean[step] +=
          std::abs(window.actual[k * horizon + step] - guess(window, step)) / static_cast<double>(windows.size());
  return numbers(mean);
}

}  // namespace

Json forecasts(const std::vector<std::string>& targets, std::int64_t horizon, std::int64_t season,
               const std::vector<ForecastWindow>& windows) {
  const auto steps = static_cast<std::size_t>(horizon), past = static_cast<std::size_t>(season);
  Json figure{{"kind", "forecasts"}, {"rows", windows.size()},   {"horizon", horizon},
              {"season", season},    {"targets", Json::array()}, {"windows", Json::array()}};
  for (std::size_t k = 0; k < targets.size(); ++k) {
    const std::size_t history = windows.empty() ? 0 : windows[0].history[k].size();
    const auto before = [&](const ForecastWindow& window, std::size_t places) {
      return window.history[k][history - places];
    };
    Json target{{"name", targets[k]}};
    target["mae"] = mean_errors(windows, k, steps, [&](const ForecastWindow& window, std::size_t step) {
      return window.predicted[k * steps + step];
    });
    target["mae_last"] = target["mae_season"] = nullptr;
    if (history > 0)
      target["mae_last"] =
          mean_errors(windows, k, steps, [&](const ForecastWindow& window, std::size_t) { return before(window, 1); });
    if (past > 0 && history >= past)
      target["mae_season"] = mean_errors(windows, k, steps, [&](const ForecastWindow& window, std::size_t step) {
        return before(window, past - step % past);
      });
    figure["targets"].push_back(target);
  }
  const std::size_t each = targets.size() == 1 ? most_windows : most_windows / 2;
  for (std::size_t k = 0; k < std::min(targets.size(), most_shown_targets); ++k)
    for (const std::size_t i : evenly_spaced(windows.size(), each))
      figure["windows"].push_back({{"target", targets[k]},
                                   {"number", i + 1},
                                   {"history", numbers(windows[i].history[k])},
                                   {"actual", numbers(part_for(windows[i].actual, k, steps))},
                                   {"predicted", numbers(part_for(windows[i].predicted, k, steps))}});
  return figure;
}

}  // namespace report
