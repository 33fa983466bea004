// The step that is measured: its runs, and what to say about them.
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
  train,     // and AdamW over all parameters
};
Mode mode_from_name(const std::string& name);

// A step of one of these. The first two runs are not timed: they
// make caches and optimizer state.
class Step {
 public:
  Step(const StepSizes& sizes, Mode mode, int threads);

  void warm();   // the untimed runs
  double run();  // seconds
  // Steps a second, for about that many seconds after the untimed runs.
  double rate(double seconds);
  // Of all runs: times, speed, memory beyond that of the model, operations. One run at least.
  nlohmann::json report() const;
  // How many samples of one more step, or of 0.2 s of them, were at vector instructions of each kind. Behind the report:
  // the step's operations count among those of the runs.
  nlohmann::json ran();
  // Input, parameters (vectors with some noise), result and, if it trains, gradients: as safetensors.
  void save(const std::string& path);

 private:
  void step();  // as the Trainer, one region for all of it
  void step_in_region();
  nlohmann::json operations() const;
  double least_bytes() const;
  std::int64_t activation_bytes() const;

  StepSizes sizes_;
  Mode mode_;
  int threads_;
  StepModel model_;
  std::uint64_t resident_before_;            // VmHWM with the model made
  std::size_t used_before_;                  // the same by weft's own count
  std::unique_ptr<ParameterSet> gradients_;  // where it goes backward and doesn't train
  std::unique_ptr<Optimizer> optimizer_;
  std::unique_ptr<Profile> profile_;
  std::int64_t steps_ = 0;
  double loss_ = 0, gradient_norm_ = 0;  // of the first step
  std::vector<double> peak_gflops_;      // the machine's, measured before each run
  std::vector<double> seconds_;
};

}  // namespace weft::bench
