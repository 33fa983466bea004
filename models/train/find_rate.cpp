#include "weft/find_rate.h"

#include <algorithm>
#include <cmath>

#include "train/not_finite.h"

namespace weft {

namespace {

constexpr std::int64_t least_steps = 10;
constexpr double kept = 0.9;    // the weight of the previous moving average in the new one
constexpr double too_high = 4;  // the search ends if the loss exceeds this multiple of the lowest loss
constexpr double share_of_fall = 0.8;

void check(const RateRange& range) {
  if (!(range.lowest > 0) || !(range.highest > range.lowest) || !std::isfinite(range.highest) ||
      range.steps < least_steps)
    throw Error("[find_rate] expected 0 < lowest < highest and at least " + std::to_string(least_steps) +
                " steps, got " + std::to_string(range.lowest) + ", " + std::to_string(range.highest) + " and " +
                std::to_string(range.steps));
}

// Returns the loss of a step, or NaN if it is no longer finite.
double loss_of(Trainer& trainer) {
  try {
    return trainer.step();
  } catch (const detail::NotFinite&) {
    if (trainer.steps_done() < least_steps) throw;
    return std::nan("");  // the rate is too high
  }
}

// Returns the first rate at which the loss has fallen by the fraction share_of_fall of its total decrease.
double chosen_rate(const FoundRate& found) {
  const double first = found.losses.front(), lowest = *std::min_element(found.losses.begin(), found.losses.end());
  const double enough = first - share_of_fall * (first - lowest);
  const auto at = std::find_if(found.losses.begin(), found.losses.end(), [&](double loss) { return loss <= enough; });
  return found.rates[static_cast<std::size_t>(at - found.losses.begin())];
}

}  // namespace

FoundRate find_rate(Model& model, const Data& data, TrainOptions options, const RateRange& range,
                    const std::function<bool(std::int64_t step, double rate, double loss)>& progress) {
  check(range);
  const double factor = std::pow(range.highest / range.lowest, 1 / static_cast<double>(range.steps - 1));
  const auto rate_of = [&](std::int64_t step) {
    return range.lowest * std::pow(factor, static_cast<double>(step - 1));
  };
  options.schedule.steps = range.steps;
  options.schedule.own = {"find-rate", rate_of};
  Trainer trainer(model, data, options);
  FoundRate found;
  double average = 0, lowest = 0;
  for (std::int64_t step = 1; step <= range.steps; ++step) {
    const double loss = loss_of(trainer);
    if (std::isnan(loss)) break;
    average = kept * average + (1 - kept) * loss;
    const double unbiased = average / (1 - std::pow(kept, static_cast<double>(step)));
    found.rates.push_back(rate_of(step));
    found.losses.push_back(unbiased);
    lowest = step == 1 ? unbiased : std::min(lowest, unbiased);
    if (progress && !progress(step, rate_of(step), unbiased)) break;
    if (step >= least_steps && unbiased > too_high * lowest) break;
  }
  if (!found.rates.empty()) found.rate = chosen_rate(found);
  return found;
}

}  // namespace weft
