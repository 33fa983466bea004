/// \file
/// Trainer: optimizes a model's parameters on data and saves checkpoints. The same options give the same bits at any
/// thread count, even if training was stopped and resumed.
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

/// Training options.
struct TrainOptions {
  Schedule schedule;           ///< of the learning rate; its `steps` is the length of the run
  OptimizerOptions optimizer;  ///< which one, its options, weight decay and clipping
  /// Batches per step. The gradient is that of the mean over everything that they predict, as if they were one batch.
  std::int64_t micro_batches = 1;
  /// ε: the training loss is (1 - ε) · loss - ε · the mean of log p over all classes (Szegedy et al. 2016, section 7),
  /// for data whose loss is the cross entropy. Evaluation does not use it.
  double label_smoothing = 0;
  /// β: evaluations and checkpoints use an exponential moving average a of the parameters p, which each step t updates as
  /// a = b · a + (1 - b) · p, with b = min(β, (1 + t) / (10 + t)) so that the first values fade quickly (Polyak and
  /// Juditsky 1992; TensorFlow's ExponentialMovingAverage). Training itself uses p. 0: no average.
  double ema = 0;
  std::uint64_t seed = 1;  ///< of batches, masks and dropout
  /// Threads that call Data::training for the batches of the next steps while a step computes, 0 to 64. At most
  /// loaders + 1 steps are kept ready. The result doesn't depend on it. None: 1 if the Context has several threads, else
  /// 0.
  std::optional<std::int64_t> loaders = {};
  /// The ranks that train together; null: only this process. Each rank has its own trainer, with its own model, data
  /// and options, which are equal on all ranks. Each computes every size()-th micro-batch. The result has the bits of
  /// one process that computes all of them. All ranks make the same calls of their trainers; an Error on one rank
  /// becomes a RankError on all. Must outlive the trainer.
  Ranks* ranks = nullptr;
};

/// The result of an evaluation on validation data.
struct Evaluation {
  double loss = 0;                          ///< the mean over everything predicted, in nats
  std::vector<Metric> metrics;              ///< the data's other metrics
  std::int64_t predicted = 0;               ///< number of predicted targets: symbols, or rows of a classifier
  std::int64_t bytes = 0;                   ///< of the text behind these targets; 0 for a classifier
  std::optional<Confusion> confusion = {};  ///< for a classifier's labels

  double metric(const std::string& name) const;  ///< throws an Error if there is none of that name
  double perplexity() const;                     ///< e^loss
  /// The loss in bits for each byte of text, which can be compared between tokenizers. Bytes that the tokenizer leaves
  /// out (for example white space between words) or doesn't know are not counted. None for a classifier.
  std::optional<double> bits_per_byte() const;
};

/// Evaluates all validation batches of the data, one after the other, without dropout. Nothing is recorded.
Evaluation evaluate(const Model& model, const Data& data);
/// The same, but returns none if `stop`, which is called before each batch, returns true.
std::optional<Evaluation> evaluate(const Model& model, const Data& data, const std::function<bool()>& stop);

/// The state of a run after one of its steps.
struct Progress {
  std::int64_t step = 0;         ///< the step just done, from 1
  std::int64_t steps = 0;        ///< steps of the whole run
  double loss = 0;               ///< of this step's batches, nats
  double learning_rate = 0;      ///< of this step
  double gradient_norm = 0;      ///< of this step, before clipping
  double tokens_per_second = 0;  ///< since the run began, without evaluation and saving
  double seconds_left = 0;       ///< at that speed
  double data_wait = 0;          ///< the share of the time in which steps waited for batches
};

/// Options of Trainer::run besides the steps. With several ranks, only rank 0 writes, so only it uses folder and open.
/// Every rank calls `progress` and `stop`, and each of them can stop all ranks.
struct RunOptions {
  std::string folder;             ///< the run's folder, see weft/run_folder.h, which run() opens; none if empty
  RunFolder* open = nullptr;      ///< this folder, if the caller has opened it
  std::int64_t eval_every = 500;  ///< steps; 0: only at the end; a save follows each evaluation
  std::int64_t patience = 0;      ///< consecutive evaluations without a new best one that end the run; 0: no limit
  /// Decides which evaluation is the best so far, for best/ and patience: "loss" for the lowest loss, or the name of a
  /// metric for its best value; in a tie the lower loss wins. Empty: the loaded state's choice, or else the loss.
  /// Throws an Error if the data don't measure it, or if the run already has a best evaluation by another criterion.
  std::string best_by;
  /// Called after each step, before the evaluation that may follow. If it returns false, the run saves and stops,
  /// unless it was the last step.
  std::function<bool(const Progress&)> progress;
  /// Called after each evaluation and its save, with the number of steps done.
  std::function<void(std::int64_t step, const Evaluation&)> evaluated;
  /// Called after each step and before each batch of an evaluation. If it returns true, the run saves and stops. If
  /// this stops an evaluation, the resumed run begins with that evaluation.
  std::function<bool()> stop;
  /// Called if a save failed, except the last one. If it returns true, the run continues. The previous save is
  /// unchanged. Null: the Error ends the run.
  std::function<bool(const Error&)> save_failed;
};

/// A run's best evaluation so far, see RunOptions::best_by.
struct BestEvaluation {
  std::int64_t step = 0;  ///< after this step
  double loss = 0;        ///< nats
  double metric = 0;      ///< the metric that made it the best, if that isn't the loss
};

/// The result of Trainer::run.
struct RunResult {
  bool stopped = false;                  ///< stopped by `progress` or `stop`
  bool out_of_patience = false;          ///< it ended before its last step, see RunOptions::patience
  std::optional<Evaluation> evaluation;  ///< after the last step; none if it was stopped
  double tokens_per_second = 0;          ///< of training, without evaluation and saving
  double seconds = 0;                    ///< the duration of the steps
  double data_wait = 0;                  ///< the share of it in which they waited for batches
  std::uint64_t bytes_sent = 0;          ///< gradient bytes that this rank sent to others
  double seconds_waited = 0;             ///< time spent only waiting for gradients of others
};

namespace detail {
class [[gnu::visibility("hidden")]] BatchAhead;
class [[gnu::visibility("hidden")]] GradientExchange;
class [[gnu::visibility("hidden")]] WeightAverage;
}  // namespace detail

/// Trains one model. Only one thread may use a trainer, and no other thread may use the model meanwhile, because each
/// step writes its parameters. Threads of the trainer's own call Data::training() for the next batches while a step
/// computes, see TrainOptions::loaders.
class Trainer {
 public:
  /// The trainer trains and evaluates in the model's precision, which must not change afterwards. Throws an Error if
  /// model and data don't agree in task, number of symbols and length, or for an option out of its range. With several
  /// ranks, an Error on one occurs on all, and it is also an Error if ranks differ in these. Model and data must
  /// outlive the trainer. The parameters become views of one buffer, so a model has at most one trainer at a time.
  Trainer(Model& model, const Data& data, const TrainOptions& options);
  ~Trainer();

  /// Includes the steps before its state was saved and loaded.
  std::int64_t steps_done() const noexcept { return step_; }
  /// The best evaluation of this trainer's runs and of the runs whose state it loaded; none before the first
  /// evaluation.
  const std::optional<BestEvaluation>& best() const noexcept { return best_; }
  const std::string& best_by() const noexcept { return best_by_; }  ///< "loss", or a metric's name
  /// Makes one step and returns its loss in nats. If the loss or the gradient is not finite, or if memory runs out, it
  /// throws an Error and changes nothing: the step can be tried again.
  double step();
  /// Makes steps up to options.schedule.steps, then evaluates and saves. If a step fails, its Error names the step, and
  /// the folder keeps its last save. Whenever the process ends, a trainer that loads the state from the folder
  /// continues with the same bits; metrics of later steps are removed.
  RunResult run(const RunOptions& options);

  /// Calls body() while the model has the moving average of its parameters, if TrainOptions::ema asks for one. Otherwise
  /// the model has the parameters themselves, also after run(). Steps and states are an Error in body().
  void with_average(const std::function<void()>& body);

  /// What it trains and how, as JSON: the run.json of a run whose folder run() opens itself.
  std::string description() const;
  /// Writes parameters, optimizer state, step and options to a file, from which another trainer can continue.
  void save_state(const std::string& path);
  /// Loads the state that save_state wrote. Throws an Error if the file is damaged, or belongs to another model,
  /// tokenizer, data, seed, optimizer or schedule.
  void load_state(const std::string& path);
  /// Whether the checkpoint is the one that a run saves after this step's evaluation: it has this step, a validation
  /// loss, and this model's parameters, bit by bit. If not, a run that was stopped still has to write it.
  bool is_saved_as(const Checkpoint& checkpoint) const;

 private:
  struct [[gnu::visibility("hidden")]] Run;
  double step_in_region();
  double learning_rate_of(std::int64_t step) const;
  void check_no_average_in_use() const;
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
  std::unique_ptr<detail::WeightAverage> average_;  // null: none
  Random batches_, dropout_;
  std::int64_t step_ = 0;
  std::int64_t tokens_ = 0;                             // number of tokens in all steps
  double gradient_norm_ = 0;                            // of the last step
  double learning_rate_ = 0;                            // of the last step
  bool equal_shares_ = false;                           // of micro-batches, in runs that an earlier version began
  bool evaluation_due_ = false;                         // after step_; the run does it before it continues
  std::optional<BestEvaluation> best_;                  // before the due evaluation
  std::string best_by_ = "loss";                        // or the name of a metric
  bool lower_is_better_ = false;                        // of that metric
  std::int64_t without_better_ = 0;                     // evaluations since the best
  std::unique_ptr<detail::BatchAhead> ahead_;           // null before the first step
  std::unique_ptr<detail::GradientExchange> exchange_;  // likewise, for several ranks
};

/// The result of a run's test.
struct TestResult {
  std::int64_t step = 0;  ///< the checkpoint's step
  Evaluation evaluation;  ///< on the test data
};

/// Ends a run: measures its best checkpoint (the last one if there is no best) on data that influenced no choice in the
/// run. It computes like `weft eval` and writes {"step":…,"test_loss":…,…} to the run's metrics; resuming the run
/// removes that line. Returns none if `stop`, which is called before each batch, returns true. Throws an Error if the
/// loss isn't finite, or if the data are for another task or tokenizer.
std::optional<TestResult> test_run(const RunFolder& folder, const Data& data,
                                   const std::function<bool()>& stop = nullptr);
/// Whether the metrics of the run in a folder have a test result.
bool is_tested(const std::string& folder);

}  // namespace weft
#pragma GCC visibility pop
