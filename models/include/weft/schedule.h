/// \file
/// Schedules: the learning rate at each step.
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#pragma GCC visibility push(default)
namespace weft {

/// How the learning rate changes; the formulas are at Schedule.
enum class ScheduleKind {
  constant,      ///< constant after the warm-up
  cosine,        ///< falls by half a cosine wave after the warm-up
  noam,          ///< rises linearly, then falls with the inverse root of the step
  linear,        ///< falls linearly after the warm-up
  inverse_sqrt,  ///< falls with the inverse root of the step after the warm-up
};

const char* schedule_name(ScheduleKind kind) noexcept;     ///< "constant", "cosine", "noam", "linear", "inverse-sqrt"
ScheduleKind schedule_from_name(const std::string& name);  ///< throws an Error if there is none
std::vector<std::string> schedules();                      ///< their names

/// A schedule of the program's own.
struct OwnSchedule {
  std::string name = {};                               ///< in the state of a run, which only the same name continues
  std::function<double(std::int64_t step)> rate = {};  ///< the learning rate of a step, counted from 1
};

/// The learning rate of each step, counted from 1.
///
/// All kinds except noam: peak · step / warmup while step < warmup. After the warm-up, with
/// t = (step - warmup) / (steps - warmup), at most 1:
///
/// - constant: peak.
/// - cosine: peak · (floor + (1 - floor) · (1 + cos πt) / 2).
/// - linear: peak · (floor + (1 - floor) · (1 - t)).
/// - inverse-sqrt: peak · √(warmup / step), with a warmup of 1 if it is 0.
/// - noam (Vaswani et al. 2017, section 5.3), in every step: peak · d_model^-1/2 · min(step^-1/2, step · warmup^-3/2).
struct Schedule {
  ScheduleKind kind = ScheduleKind::cosine;  ///< selects the formula
  double peak = 2e-3;                        ///< the highest rate; noam: a factor
  std::int64_t warmup = 100;                 ///< steps; 0: none
  std::int64_t steps = 2000;                 ///< of the whole run; cosine, linear: where it ends
  double floor = 0;                          ///< cosine, linear: the last rate as a fraction of the peak
  std::int64_t d_model = 1;                  ///< noam: the model's width
  /// If it has a function, this decides the rate. The other fields still belong to the state of a run.
  OwnSchedule own = {};

  /// The name of `own` if it has a function, else that of `kind`.
  std::string name() const;
  /// The rate of a step.
  double operator()(std::int64_t step) const;
};

}  // namespace weft
#pragma GCC visibility pop
