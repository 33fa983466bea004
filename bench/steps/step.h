// The step that is measured, and the report of its runs.
#pragma once
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "machine/sampled.h"
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

// A step of one model. The first two runs are not timed, because they fill the caches and create the optimizer's state.
class Step {
 public:
  Step(const StepSizes& sizes, Mode mode, int threads);

  void warm();   // the untimed runs
  double run();  // runs one step and returns its seconds
  // Measures the steps per second for about this many seconds, after the untimed runs.
  double rate(double seconds);
  // Reports all runs: times, speed, memory in addition to the model's, and operations. Needs at least one run.
  nlohmann::json report() const;
  // Runs steps for 0.2 s, but at least one, and returns the number of sampled instructions of each kind. Call this
  // after report(), because the report would include the operations of these steps.
  Samples ran();
  // Writes the input, the parameters (with noise added to vectors) and the result as safetensors. Except in the
  // mode "forward", it also writes the gradients.
  void save(const std::string& path);

 private:
  void step();  // uses one parallel region for the whole step, like the Trainer
  void step_in_region();
  nlohmann::json operations() const;
  double least_bytes() const;
  std::int64_t activation_bytes() const;

  StepSizes sizes_;
  Mode mode_;
  int threads_;
  StepModel model_;
  std::uint64_t resident_before_;            // VmHWM after the model was made
  std::size_t used_before_;                  // bytes of tensors at that time, counted by weft
  std::unique_ptr<ParameterSet> gradients_;  // for the mode "backward"
  std::unique_ptr<Optimizer> optimizer_;
  std::unique_ptr<Profile> profile_;
  std::int64_t steps_ = 0;
  double loss_ = 0, gradient_norm_ = 0;  // of the first step
  std::vector<double> peak_gflops_;      // the machine's peak, measured before each run
  std::vector<double> seconds_;
};

}  // namespace weft::bench
