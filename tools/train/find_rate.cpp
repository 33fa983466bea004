#include "train/find_rate.h"

#include <weft/find_rate.h>

#include <algorithm>
#include <iomanip>
#include <iostream>
#include <sstream>

#include "console/command.h"
#include "train/stop_signal.h"
#include "train/train_data.h"

namespace {

constexpr std::int64_t steps_of_search = 200, printed = 20;

// Formats a number with this number of significant digits. For example, 0.00237 with one digit is "0.002".
std::string with_digits(double x, int digits) {
  std::ostringstream text;
  text << std::setprecision(digits) << x;
  return text.str();
}

}  // namespace

int find_learning_rate(TrainOptions& o) {
  if (o.ranks != nullptr) throw UsageError("--find-lr can't be used under mpirun");
  weft::RateRange range;
  range.steps = o.steps.value_or(steps_of_search);
  o.steps = range.steps;
  Training training = load_training(o);
  for (const std::string& note : training.notes) std::cerr << note << std::endl;
  stop_on_signals(nullptr);
  const std::int64_t every = std::max<std::int64_t>(1, range.steps / printed);
  std::cout << "learning rate\tloss" << std::endl;
  const weft::FoundRate found = weft::find_rate(*training.model, *training.data, o.training(*training.model), range,
                                                [&](std::int64_t step, double rate, double loss) {
                                                  if (step % every == 0)
                                                    std::cout << with_digits(rate, 2) << "\t" << with_digits(loss, 4)
                                                              << std::endl;
                                                  return stop_signal() == 0;
                                                });
  if (stop_signal() != 0) return 128 + stop_signal();
  std::cout << "suggested: --lr " << with_digits(found.rate, 1) << std::endl;
  return 0;
}
