// The measured step: its runs and their report.
#pragma once
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "steps/step_model.h"
#include "weft/profile.h"
#include "weft/trainer.h"

namespace weft::bench {

enum class Mode {
  forward,   // without a tape
  backward,  // forward and backward
  train,     // forward, backward and AdamW over all parameters
};
Mode mode_from_name(const std::string& name);

// A step of one model. The first two runs are not timed, because they fill caches and make optimizer state.
class Step {
 public:
  Step(const StepSizes& sizes, Mode mode, int threads);

  void warm();   // the untimed runs
  double run();  // runs one step; returns its seconds
  // Steps per second, measured for about that many seconds after the untimed runs.
  double rate(double seconds);
  // The report of all runs: times, speed, memory beyond the model's, operations. Needs at least one run.
  nlohmann::json report() const;
  // The number of samples at vector instructions of each kind, during one more step or 0.2 s of steps. Call it after
  // the report, because the operations of these steps count, too.
  nlohmann::json ran();
  // Writes input, parameters (vectors with some noise), result and, if it trains, gradients as safetensors.
  void save(const std::string& path);

 private:
  void step();  // like the Trainer, one parallel region for the whole step
  void step_in_region();
  nlohmann::json operations() const;
  double least_bytes() const;
  std::int64_t activation_bytes() const;

  StepSizes sizes_;
  Mode mode_;
  int threads_;
  StepModel model_;
  std::uint64_t resident_before_;            // VmHWM after the model was made
  std::size_t used_before_;                  // the same, counted by weft
  std::unique_ptr<ParameterSet> gradients_;  // for backward without training
  std::unique_ptr<Optimizer> optimizer_;
  std::unique_ptr<Profile> profile_;
  std::int64_t steps_ = 0;
  double loss_ = 0, gradient_norm_ = 0;  // of the first step
  std::vector<double> peak_gflops_;      // the machine's peak, measured before each run
  std::vector<double> seconds_;
};

}  // namespace weft::bench
