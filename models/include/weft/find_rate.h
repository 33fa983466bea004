/// \file
/// find_rate: finds a learning rate for a model and its data, in a short run in which the rate grows.
#pragma once
#include <cstdint>
#include <functional>
#include <vector>

#include "weft/trainer.h"
#include "weft/visibility.h"

WEFT_PUBLIC_BEGIN
namespace weft {

/// The range of learning rates that find_rate() tries.
struct RateRange {
  double lowest = 1e-6;      ///< the rate of the first step
  double highest = 1;        ///< the rate of the last step, unless the run ends early
  std::int64_t steps = 200;  ///< number of steps, at least 10
};

/// What find_rate() measured.
struct FoundRate {
  std::vector<double> rates;   ///< the rate of each step; each rate is the previous one times a constant factor
  std::vector<double> losses;  ///< the averaged loss at each step
  /// The lowest rate at which the loss has fallen by four fifths of its total decrease. Use it as the peak of the
  /// schedule. The rate with the lowest loss would be too high, because at that rate the loss is about to grow, or
  /// because only a limit such as gradient clipping keeps the loss from growing.
  double rate = 0;
};

/// Trains the model with a learning rate that grows by a constant factor from step to step (Smith 2017, arXiv
/// 1506.01186, section 3.3). The averaged loss is an exponential moving average with the factor 0.9. The run ends early
/// if the averaged loss exceeds four times its minimum, or if the loss is no longer finite. The function ignores the
/// schedule in `options`. It changes the parameters of `model`, so make a new model to train with the resulting rate.
/// The function calls `progress` after each step, with the number of the step, the learning rate and the averaged loss.
/// If `progress` returns false, the search ends. Throws an Error unless 0 < lowest < highest and steps >= 10, or if one
/// of the first 10 steps fails.
FoundRate find_rate(Model& model, const Data& data, TrainOptions options, const RateRange& range = {},
                    const std::function<bool(std::int64_t step, double rate, double loss)>& progress = {});

}  // namespace weft
WEFT_PUBLIC_END
