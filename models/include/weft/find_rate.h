/// \file
/// find_rate: a learning rate for a model and its data, by a short run in which the rate grows.
#pragma once
#include <cstdint>
#include <functional>
#include <vector>

#include "weft/trainer.h"

#pragma GCC visibility push(default)
namespace weft {

/// The rates that find_rate() tries.
struct RateRange {
  double lowest = 1e-6;      ///< of the first step
  double highest = 1;        ///< of the last step, unless the loss has grown before
  std::int64_t steps = 200;  ///< at least 10
};

/// What find_rate() measured.
struct FoundRate {
  std::vector<double> rates;   ///< of each step, growing by a constant factor
  std::vector<double> losses;  ///< of each step, averaged with those before it
  /// The lowest rate at which the loss has made four fifths of its whole fall, for the schedule's peak. A rate at which
  /// the loss is lowest would be too high: the loss is about to grow, or other means, such as clipping, hold it down.
  double rate = 0;
};

/// Makes steps whose learning rate grows by a constant factor (Smith 2017, arXiv 1506.01186, section 3.3), and ends once
/// the averaged loss is four times its lowest, or no longer finite. The losses are averaged exponentially, by 0.9. The
/// schedule of `options` is not used. The model's parameters change: train another model with the rate. `progress` is
/// called after each step, with its number, its rate and the averaged loss; if it returns false, the search ends.
/// Throws an Error for a range that isn't 0 < lowest < highest with at least 10 steps, or if the first 10 steps fail.
FoundRate find_rate(Model& model, const Data& data, TrainOptions options, const RateRange& range = {},
                    const std::function<bool(std::int64_t step, double rate, double loss)>& progress = {});

}  // namespace weft
#pragma GCC visibility pop
