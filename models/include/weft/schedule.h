/// \file
/// Schedules: the learning rate at each step.
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "weft/visibility.h"

WEFT_PUBLIC_BEGIN
namespace weft {

/// How the learning rate changes. Schedule lists the formulas.
enum class ScheduleKind {
  constant,      ///< constant after the warm-up
  cosine,        ///< falls by half a cosine wave after the warm-up
  noam,          ///< rises linearly, then falls with the inverse square root of the step
  linear,        ///< falls linearly after the warm-up
  inverse_sqrt,  ///< falls with the inverse square root of the step after the warm-up
};

const char* schedule_name(ScheduleKind kind) noexcept;     ///< "constant", "cosine", "noam", "linear", "inverse-sqrt"
ScheduleKind schedule_from_name(const std::string& name);  ///< throws an Error for an unknown name
std::vector<std::string> schedules();                      ///< the names of all kinds

/// A custom schedule.
struct OwnSchedule {
  std::string name = {};  ///< saved in the state of a run, which only a schedule of the same name can continue
  std::function<double(std::int64_t step)> rate = {};  ///< returns the learning rate of a step, counted from 1
};

/// The learning rate of each step, counted from 1.
///
/// For all kinds except noam, the rate is peak · step / warmup while step < warmup. After the warm-up, with t = (step -
/// warmup) / (steps - warmup), at most 1, it is:
///
/// - constant: peak.
/// - cosine: peak · (floor + (1 - floor) · (1 + cos πt) / 2).
/// - linear: peak · (floor + (1 - floor) · (1 - t)).
/// - inverse-sqrt: peak · √(warmup / step). If warmup is 0, the formula uses 1.
/// - noam (Vaswani et al. 2017, section 5.3), in every step: peak · d_model^-1/2 · min(step^-1/2, step · warmup^-3/2).
struct Schedule {
  ScheduleKind kind = ScheduleKind::cosine;  ///< selects the formula
  double peak = 2e-3;                        ///< the highest rate; for noam, a factor
  std::int64_t warmup = 100;                 ///< number of steps of the warm-up; 0: none
  std::int64_t steps = 2000;                 ///< number of steps of the whole run; cosine and linear end there
  double floor = 0;                          ///< kinds cosine and linear: the final rate as a fraction of the peak
  std::int64_t d_model = 1;                  ///< kind noam: the width of the model
  /// If `own` has a function, this function determines the rate. The other fields are still saved in the state of a
  /// run.
  OwnSchedule own = {};

  /// Returns the name of `own` if `own` has a function, otherwise the name of `kind`.
  std::string name() const;
  /// Returns the learning rate of a step.
  double operator()(std::int64_t step) const;
};

}  // namespace weft
WEFT_PUBLIC_END
