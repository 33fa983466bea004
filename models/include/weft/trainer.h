/// \file
/// Trainer: optimization of a model's parameters on data, with checkpoints. The same options give the same bits at any
/// thread count, also if training was stopped and resumed.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "weft/data.h"
#include "weft/model.h"
#include "weft/optimizer.h"
#include "weft/schedule.h"

#pragma GCC visibility push(default)
namespace weft {

/// How a model is trained.
struct TrainOptions {
  Schedule schedule;               ///< of the learning rate; its `steps` are those of the run
  OptimizerOptions optimizer;      ///< which one, its options, weight decay and clipping
  std::int64_t micro_batches = 1;  ///< batches whose mean gradient makes a step
  std::uint64_t seed = 1;          ///< of batches, masks and dropout
};

/// What a model does on validation data.
struct Evaluation {
  double loss = 0;              ///< the mean over what is predicted, nats
  std::vector<Metric> metrics;  ///< what the data measure besides
  std::int64_t predicted = 0;   ///< targets that counted: symbols, or rows of a classifier
  std::int64_t bytes = 0;       ///< of the text that they stand for; 0 of a classifier

  double metric(const std::string& name) const;  ///< Error if there is none of that name
  double perplexity() const;                     ///< e^loss
  /// The loss as bits for each byte of text, which tokenizers don't change the meaning of: what they leave out (white
  /// space between words, say) isn't counted, and neither is what they don't know. None of a classifier.
  std::optional<double> bits_per_byte() const;
};

/// Over all of the data's validation batches, one after the other, without dropout. Nothing is recorded.
Evaluation evaluate(const Model& model, const Data& data);

/// A run after one of its steps.
struct Progress {
  std::int64_t step = 0;                 ///< that is done, from 1
  std::int64_t steps = 0;                ///< of the whole run
  double loss = 0;                       ///< of this step's batches, nats
  double learning_rate = 0;              ///< of this step
  double tokens_per_second = 0;          ///< since the run began, evaluation and saving aside
  double seconds_left = 0;               ///< at that speed
  std::optional<Evaluation> evaluation;  ///< if there was one after this step
};

/// What Trainer::run does besides steps.
struct RunOptions {
  std::string folder;                             ///< of checkpoints; none if empty
  std::int64_t eval_every = 500;                  ///< steps, 0: at the end alone; a checkpoint follows each evaluation
  std::function<bool(const Progress&)> progress;  ///< after each step; false: save and stop
};

/// What Trainer::run gives.
struct RunResult {
  bool stopped = false;                  ///< by `progress`
  std::optional<Evaluation> evaluation;  ///< after the last step; none if it was stopped
  double tokens_per_second = 0;          ///< of training, evaluation and saving aside
  double seconds = 0;                    ///< that the steps took
};

namespace detail {
class [[gnu::visibility("hidden")]] BatchAhead;
}

/// Trains one model. One thread's; meanwhile no other may use the model, whose parameters each step writes. A
/// second thread, the trainer's own, calls Data::training() for the next batch while a step computes.
class Trainer {
 public:
  /// Error if model and data don't agree in task, number of symbols and length, or for an option out of its range. Both must
  /// outlive the trainer. The parameters become views of one buffer: a model has one trainer at a time.
  Trainer(Model& model, const Data& data, const TrainOptions& options);
  ~Trainer();

  /// Also those before its state was saved and loaded.
  std::int64_t steps_done() const noexcept { return step_; }
  /// One step; gives its loss in nats. Error, with nothing changed, if loss or gradient are not finite.
  double step();
  /// Steps up to options.schedule.steps, then an evaluation and a checkpoint. If a step fails its Error says which, and
  /// the folder keeps its last checkpoint.
  RunResult run(const RunOptions& options);

  /// Writes parameters, optimizer state, step and options to a file, from which another trainer can go on.
  void save_state(const std::string& path);
  /// The state that save_state wrote. Error if the file is damaged, or of another model, tokenizer, data, seed,
  /// optimizer or schedule.
  void load_state(const std::string& path);

 private:
  double step_in_region();
  Evaluation checked_evaluation() const;
  void save(const std::string& folder, const std::optional<Evaluation>& evaluation);

  Model& model_;
  const Data& data_;
  TrainOptions options_;
  Optimizer optimizer_;
  Random batches_, dropout_;
  std::int64_t step_ = 0;
  std::int64_t tokens_ = 0;                    // that steps have seen
  std::unique_ptr<detail::BatchAhead> ahead_;  // from the first step on
};

/// The file in a checkpoint's folder that save_state writes during a run.
std::string state_path(const std::string& folder);

}  // namespace weft
#pragma GCC visibility pop
