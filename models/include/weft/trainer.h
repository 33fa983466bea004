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

#include "weft/checkpoint.h"
#include "weft/data.h"
#include "weft/model.h"
#include "weft/optimizer.h"
#include "weft/ranks.h"
#include "weft/run_folder.h"
#include "weft/schedule.h"

#pragma GCC visibility push(default)
namespace weft {

/// How a model is trained.
struct TrainOptions {
  Schedule schedule;           ///< of the learning rate; its `steps` are those of the run
  OptimizerOptions optimizer;  ///< which one, its options, weight decay and clipping
  /// Batches whose gradients make a step, that of the mean over all that they predict, as if they were one.
  std::int64_t micro_batches = 1;
  /// ε: the loss of training is (1 - ε) · loss - ε · the mean of log p over all classes (Szegedy et al. 2016, section 7),
  /// for data whose loss is the cross entropy. Evaluation is without.
  double label_smoothing = 0;
  std::uint64_t seed = 1;  ///< of batches, masks and dropout
  /// Those that train together, or null: this process alone. Each has a trainer, of a model, data and options of its own
  /// that are all alike, and computes every size()-th micro-batch; to the bits of one process that computes them all. All
  /// make the same calls of their trainers; an Error of one becomes a RankError of all. Must outlive the trainer.
  Ranks* ranks = nullptr;
};

/// What a model does on validation data.
struct Evaluation {
  double loss = 0;                          ///< the mean over what is predicted, nats
  std::vector<Metric> metrics;              ///< what the data measure besides
  std::int64_t predicted = 0;               ///< targets that counted: symbols, or rows of a classifier
  std::int64_t bytes = 0;                   ///< of the text that they stand for; 0 of a classifier
  std::optional<Confusion> confusion = {};  ///< of a classifier's labels

  double metric(const std::string& name) const;  ///< Error if there is none of that name
  double perplexity() const;                     ///< e^loss
  /// The loss as bits for each byte of text, which tokenizers don't change the meaning of: what they leave out (white
  /// space between words, say) isn't counted, and neither is what they don't know. None of a classifier.
  std::optional<double> bits_per_byte() const;
};

/// Over all of the data's validation batches, one after the other, without dropout. Nothing is recorded.
Evaluation evaluate(const Model& model, const Data& data);
/// The same, but none if `stop`, asked before each batch, says true.
std::optional<Evaluation> evaluate(const Model& model, const Data& data, const std::function<bool()>& stop);

/// A run after one of its steps.
struct Progress {
  std::int64_t step = 0;         ///< that is done, from 1
  std::int64_t steps = 0;        ///< of the whole run
  double loss = 0;               ///< of this step's batches, nats
  double learning_rate = 0;      ///< of this step
  double gradient_norm = 0;      ///< of this step, before clipping
  double tokens_per_second = 0;  ///< since the run began, evaluation and saving aside
  double seconds_left = 0;       ///< at that speed
};

/// What Trainer::run does besides steps. Of several ranks, folder and open are rank 0's business, which alone writes;
/// `progress` and `stop` are asked on each, and one of them stops all.
struct RunOptions {
  std::string folder;             ///< of the run, see weft/run_folder.h, which run() opens; none if empty
  RunFolder* open = nullptr;      ///< that folder, if the caller has it open
  std::int64_t eval_every = 500;  ///< steps, 0: at the end alone; a save follows each evaluation
  std::int64_t patience = 0;      ///< evaluations in a row without a new best one that end the run; 0: any number
  /// What makes an evaluation the best so far, for best/ and patience: the lowest "loss", or the highest metric of that name, of
  /// equals the one of lower loss. Empty: as the loaded state has it, or else the loss. Error if the data don't measure it, or if
  /// the run has a best one by something else.
  std::string best_by;
  /// After each step, before the evaluation that may follow; false: save and stop, unless it was the last step.
  std::function<bool(const Progress&)> progress;
  /// After each evaluation and its save, with the number of steps that are done.
  std::function<void(std::int64_t step, const Evaluation&)> evaluated;
  /// Asked after each step and before each batch of an evaluation: true: save and stop. An evaluation that was stopped
  /// is the first thing that the resumed run does.
  std::function<bool()> stop;
  /// A save failed, the last one aside; true: go on. What was saved before is as it was. None: the Error ends the run.
  std::function<bool(const Error&)> save_failed;
};

/// A run's best evaluation so far, see RunOptions::best_by.
struct BestEvaluation {
  std::int64_t step = 0;  ///< after which
  double loss = 0;        ///< nats
  double metric = 0;      ///< what made it the best, if that isn't the loss
};

/// What Trainer::run gives.
struct RunResult {
  bool stopped = false;                  ///< by `progress` or `stop`
  bool out_of_patience = false;          ///< ended before its last step, see RunOptions::patience
  std::optional<Evaluation> evaluation;  ///< after the last step; none if it was stopped
  double tokens_per_second = 0;          ///< of training, evaluation and saving aside
  double seconds = 0;                    ///< that the steps took
  std::uint64_t bytes_sent = 0;          ///< of gradients, by this rank to others
  double seconds_waited = 0;             ///< for gradients of others, with nothing else to do
};

namespace detail {
class [[gnu::visibility("hidden")]] BatchAhead;
class [[gnu::visibility("hidden")]] GradientExchange;
}  // namespace detail

/// Trains one model. One thread's; meanwhile no other may use the model, whose parameters each step writes. A
/// second thread, the trainer's own, calls Data::training() for the next batch while a step computes.
class Trainer {
 public:
  /// It trains, and evaluates, in the model's precision, which stays as it is from then on.
  /// Error if model and data don't agree in task, number of symbols and length, or for an option out of its range; of several
  /// ranks, of all of them, also unless they have the same. Model and data must outlive the trainer. The parameters become views
  /// of one buffer: a model has one trainer at a time.
  Trainer(Model& model, const Data& data, const TrainOptions& options);
  ~Trainer();

  /// Also those before its state was saved and loaded.
  std::int64_t steps_done() const noexcept { return step_; }
  /// Of the runs of this trainer, and of those whose state it loaded; none if none has been evaluated.
  const std::optional<BestEvaluation>& best() const noexcept { return best_; }
  const std::string& best_by() const noexcept { return best_by_; }  ///< "loss", or a metric's name
  /// One step; gives its loss in nats. Error, with nothing changed, if loss or gradient are not finite, or if memory runs
  /// out: the step can be tried again.
  double step();
  /// Steps up to options.schedule.steps, then an evaluation and a save. If a step fails its Error says which, and the
  /// folder keeps its last save. Whenever the process ends, a trainer that loads the state from the folder goes on to the
  /// same bits; metrics of later steps are cut off.
  RunResult run(const RunOptions& options);

  /// What it trains and how, as JSON: run.json of a run whose folder nobody else opened.
  std::string description() const;
  /// Writes parameters, optimizer state, step and options to a file, from which another trainer can go on.
  void save_state(const std::string& path);
  /// The state that save_state wrote. Error if the file is damaged, or of another model, tokenizer, data, seed,
  /// optimizer or schedule.
  void load_state(const std::string& path);
  /// Whether the checkpoint is what a run saves after this step's evaluation: of this step, with a validation loss, and
  /// of this model, bit by bit. Else a run that was stopped has it still to write.
  bool is_saved_as(const Checkpoint& checkpoint) const;

 private:
  struct [[gnu::visibility("hidden")]] Run;
  double step_in_region();
  double add_gradient(const Batch& batch, std::int64_t number, double share, GradientSink& sink);
  std::vector<double> exchange_gradients(const std::vector<Batch>& batches, const std::vector<double>& shares);
  int rank() const noexcept { return options_.ranks == nullptr ? 0 : options_.ranks->rank(); }
  int ranks() const noexcept { return options_.ranks == nullptr ? 1 : options_.ranks->size(); }
  void check_ranks();
  void check_same_parameters();
  void load_own_state(const std::string& path);
  Progress timed_step(Run& run);
  RunResult steps_and_saves(const RunOptions& options);
  void decide_best_by(const std::string& name);
  bool is_better(const BestEvaluation& evaluation) const;
  void evaluate_and_save(Run& run);
  void check_parameters();
  void save_running_state(const std::string& folder);
  void save_model(const std::string& folder, const std::optional<Evaluation>& evaluation) const;
  Tensor training_loss(const Batch& batch, const Random& dropout) const;
  struct [[gnu::visibility("hidden")]] Counted;
  std::vector<double> shares(const std::vector<Counted>& batches) const;

  Model& model_;
  const Data& data_;
  TrainOptions options_;
  Optimizer optimizer_;
  Random batches_, dropout_;
  std::int64_t step_ = 0;
  std::int64_t tokens_ = 0;                             // that steps have seen
  double gradient_norm_ = 0;                            // of the last step
  bool equal_shares_ = false;                           // of micro-batches, as in runs that an earlier version began
  bool evaluation_due_ = false;                         // after step_, which the run does before it goes on
  std::optional<BestEvaluation> best_;                  // before the evaluation that is due
  std::string best_by_ = "loss";                        // or a metric
  std::int64_t without_better_ = 0;                     // evaluations since the best
  std::unique_ptr<detail::BatchAhead> ahead_;           // from the first step on
  std::unique_ptr<detail::GradientExchange> exchange_;  // the same, of several ranks
};

/// What a run's test measured.
struct TestResult {
  std::int64_t step = 0;  ///< of the checkpoint
  Evaluation evaluation;  ///< of the test data
};

/// The end of a run: measures its best checkpoint (the last one, if there is no best) on data that chose nothing in it, computing as
/// `weft eval` does, and writes {"step":…,"test_loss":…,…} to its metrics, which resuming the run cuts off. None if `stop`, asked
/// before each batch, says true. Error if the loss isn't finite, or if the data are for another task or tokenizer.
std::optional<TestResult> test_run(const RunFolder& folder, const Data& data,
                                   const std::function<bool()>& stop = nullptr);
/// Whether the metrics of the run in a folder have the result of its test.
bool is_tested(const std::string& folder);

}  // namespace weft
#pragma GCC visibility pop
