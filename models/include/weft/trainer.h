// Trainer: optimization of a model's parameters on data, with checkpoints. The same options give the same bits at any
// thread count, also if training was stopped and resumed.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "weft/data.h"
#include "weft/model.h"
#include "weft/optimizer.h"
#include "weft/schedule.h"

#pragma GCC visibility push(default)
namespace weft {

struct TrainOptions {
  Schedule schedule;
  OptimizerOptions optimizer;
  std::int64_t micro_batches = 1;  // batches whose mean gradient makes a step
  std::uint64_t seed = 1;
};

struct Evaluation {
  double loss = 0;              // the mean over what is predicted, nats
  std::vector<Metric> metrics;  // what the data measure besides
  std::int64_t predicted = 0;

  double metric(const std::string& name) const;  // Error if there is none of that name
};

// Over all of the data's validation batches.
Evaluation evaluate(const Model& model, const Data& data);

struct Progress {
  std::int64_t step = 0, steps = 0;
  double loss = 0;  // of this step's batch
  double learning_rate = 0;
  double tokens_per_second = 0;     // since the run began, evaluation and saving aside
  double seconds_left = 0;          // at that speed
  std::optional<Evaluation> evaluation;  // if there was one after this step
};

struct RunOptions {
  std::string folder;             // of checkpoints; none if empty
  std::int64_t eval_every = 500;  // steps; a checkpoint follows each evaluation
  std::function<bool(const Progress&)> progress;  // after each step; false: save and stop
};

struct RunResult {
  bool stopped = false;  // by `progress`
  std::optional<Evaluation> evaluation;  // of the last step
  double tokens_per_second = 0, seconds = 0;
};

class Trainer {
 public:
  // Error if model and data don't agree. Both must outlive the trainer.
  Trainer(Model& model, const Data& data, const TrainOptions& options);

  std::int64_t steps_done() const noexcept { return step_; }
  // One step; gives its loss. Error, with nothing changed, if loss or gradient are not finite.
  double step();
  // Steps up to options.schedule.steps, then an evaluation and a checkpoint. If a step fails its Error says which, and
  // the folder keeps its last checkpoint.
  RunResult run(const RunOptions& options);

  // Writes parameters, optimizer state, step and options to a file, from which another trainer can go on.
  void save_state(const std::string& path);
  // Error if the file is damaged, or of another model, vocabulary, data, seed, optimizer or schedule.
  void load_state(const std::string& path);

 private:
  Evaluation checked_evaluation() const;
  void save(const std::string& folder, const std::optional<Evaluation>& evaluation);

  Model& model_;
  const Data& data_;
  TrainOptions options_;
  Optimizer optimizer_;
  Random batches_, dropout_;
  std::int64_t step_ = 0;
  std::int64_t tokens_ = 0;  // that steps have seen
};

// The file in a checkpoint's folder that save_state writes during a run.
std::string state_path(const std::string& folder);

}  // namespace weft
#pragma GCC visibility pop
