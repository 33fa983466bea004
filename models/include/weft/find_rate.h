/// \file
/// find_rate: finds a learning rate for a model and its data, in a short run in which the rate grows.
#pragma once
#include <cstdint>
#include <functional>
#include <vector>

#include "weft/trainer.h"

#pragma GCC visibility push(default)
namespace weft {

/// The range of learning rates that find_rate() tries.
struct RateRange {
  double lowest = 1e-6;      ///< the rate of the first step
  double highest = 1;        ///< the rate of the last step, unless the run ends before
  std::int64_t steps = 200;  ///< number of steps, at least 10
};

/// What find_rate() measured.
struct FoundRate {
  std::vector<double> rates;   ///< the rate of each step; they grow by a constant factor
  std::vector<double> losses;  ///< the averaged loss at each step
  /// The lowest rate at which the loss has fallen by four fifths of its total decrease. Use it as the peak of the
  /// schedule. The rate with the lowest loss would be too high, because there the loss is about to grow, or only other
  /// means, such as clipping, keep it from growing.
  double rate = 0;
};

/// Makes steps whose learning rate grows by a constant factor (Smith 2017, arXiv 1506.01186, section 3.3). The run ends
/// early if the averaged loss exceeds four times its minimum, or if the loss is no longer finite. The average is
/// exponential, with the factor 0.9. The schedule in `options` is not used. This changes the model's parameters, so
/// train another model with the rate. The function calls `progress` after each step, with the step's number, its rate
/// and the averaged loss. If `progress` returns false, the search ends. Throws an Error unless 0 < lowest < highest and
/// steps >= 10, or if one of the first 10 steps fails.
FoundRate find_rate(Model& model, const Data& data, TrainOptions options, const RateRange& range = {},
                    const std::function<bool(std::int64_t step, double rate, double loss)>& progress = {});

}  // namespace weft
#pragma GCC visibility pop
