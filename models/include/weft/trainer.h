/// \file
/// Trainer: optimizes a model's parameters on data and saves checkpoints. The same options give the same bits with any
/// number of threads, even if training was stopped and resumed.
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
#include "weft/precision.h"
#include "weft/quantize.h"
#include "weft/ranks.h"
#include "weft/run_folder.h"
#include "weft/schedule.h"
#include "weft/visibility.h"

WEFT_PUBLIC_BEGIN
namespace weft {

/// Training options.
struct TrainOptions {
  Schedule schedule;           ///< the learning rate; its `steps` is the length of the run
  OptimizerOptions optimizer;  ///< the optimizer and its options, weight decay and clipping
  /// Batches per step. The loss of a step is the mean over all targets of these batches, as if they were one batch.
  std::int64_t micro_batches = 1;
  /// ε: the training loss is (1 - ε) · loss - ε · the mean of log p over all classes (Szegedy et al. 2016, section 7).
  /// Label smoothing is only for data whose loss is the cross entropy. Evaluation does not use it.
  double label_smoothing = 0;
  /// β: evaluations and checkpoints use an exponential moving average a of the parameters p. Each step t updates it as
  /// a = b · a + (1 - b) · p, with b = min(β, (1 + t) / (10 + t)) so that the first values fade quickly (Polyak and
  /// Juditsky 1992; TensorFlow's ExponentialMovingAverage). Training itself uses p. If 0, there is no average.
  double ema = 0;
  /// Training for a model that will be quantized. Each step computes its loss and gradient with the weights that
  /// quantize() would give the model, and applies the gradient to the exact weights, which the trainer keeps (Jacob et
  /// al. 2018, arXiv 1712.05877, section 3). Evaluations and checkpoints use the rounded weights, too. Activations and
  /// frozen parameters are not rounded. A moving average is computed from the exact weights, and rounded when it is
  /// used. quantize() then changes nothing in the weights of a checkpoint, except for about one in a hundred at most
  /// with int4. The exact weights need as much memory as the model, and while a step rounds them, so do the new ones.
  std::optional<Quantization> fake_quant = {};
  std::uint64_t seed = 1;  ///< the seed of batches, masks and dropout
  /// The number of threads, 0 to 64, that call Data::training for the batches of the next steps while a step computes.
  /// The trainer keeps the batches of at most loaders + 1 steps ready. The result of training doesn't depend on
  /// `loaders`. The default is 1 if the Context has several threads, otherwise 0.
  std::optional<std::int64_t> loaders = {};
  /// The ranks that train together; null: only this process. Each rank has its own trainer, with its own model, data
  /// and options, which must be equal on all ranks. Each rank computes every size()-th micro-batch. The result has the
  /// same bits as when one process computes all micro-batches. All ranks must make the same calls to their trainers. An
  /// Error on one rank becomes a RankError on all ranks. The object must outlive the trainer.
  Ranks* ranks = nullptr;
  /// The number format of the gradients that ranks send to each other. f32 stands for the dtype of the parameters. bf16
  /// halves the traffic. What rounding takes away from a gradient, its rest, is added to the next one (error feedback;
  /// Karimireddy et al. 2019, arXiv 1901.09847). This needs additional memory of 1.5 to 2.5 times the gradient's size.
  /// run() drops the rests when it evaluates or saves, load_state() drops them, too, and so does a step that fails. A
  /// run that was killed and resumed therefore has the same bits as one that was not, but a run that was stopped
  /// between two evaluations has other bits. The result also depends on the number of ranks that compute micro-batches.
  Precision exchange = Precision::f32;
};

/// The result of an evaluation on the validation set.
struct Evaluation {
  double loss = 0;              ///< the mean loss over all targets, in nats
  std::vector<Metric> metrics;  ///< the metrics that the data's meter measures
  std::int64_t predicted = 0;   ///< number of targets: symbols for language models, rows or tokens for other tasks
  std::int64_t bytes = 0;       ///< length of the text that these targets stand for; 0 for other tasks
  std::optional<Confusion> confusion = {};  ///< for classifiers and tagging

  double metric(const std::string& name) const;  ///< throws an Error if no metric has that name
  double perplexity() const;                     ///< e^loss
  /// The loss in bits per byte of text. This value can be compared between tokenizers. Bytes that the tokenizer leaves
  /// out (for example white space between words) or doesn't know do not count. Only language models have this value.
  std::optional<double> bits_per_byte() const;
};

/// Evaluates all validation batches of the data in order, without dropout. No tape records the computation.
Evaluation evaluate(const Model& model, const Data& data);
/// Does the same, but calls `stop` before each batch. Returns no value as soon as `stop` returns true.
std::optional<Evaluation> evaluate(const Model& model, const Data& data, const std::function<bool()>& stop);

/// The state of a run after one of its steps.
struct Progress {
  std::int64_t step = 0;         ///< the step that was just completed, from 1
  std::int64_t steps = 0;        ///< number of steps in the whole run
  double loss = 0;               ///< the loss of this step's batches, in nats
  double learning_rate = 0;      ///< the learning rate of this step
  double gradient_norm = 0;      ///< the norm of this step's gradient before clipping
  double tokens_per_second = 0;  ///< average since this call of run() began, without evaluations and saves
  double seconds_left = 0;       ///< the estimated time to the last step at that speed
  double data_wait = 0;          ///< the fraction of the time in which steps waited for batches
};

/// Options of Trainer::run other than the number of steps. With several ranks, only rank 0 writes files, so `folder`
/// and `open` have an effect only there. Every rank calls `progress` and `stop`, and each rank can stop all ranks.
struct RunOptions {
  std::string folder;             ///< the run's folder, which run() opens (weft/run_folder.h); empty: nothing is saved
  RunFolder* open = nullptr;      ///< the run's folder, if the caller has already opened it
  std::int64_t eval_every = 500;  ///< steps between evaluations, each followed by a save; 0: only at the end
  /// The run ends after this number of evaluations in a row without a new best. 0 means no limit.
  std::int64_t patience = 0;
  /// What decides which evaluation is the best so far, for best/ and `patience`: "loss" for the lowest loss, or a
  /// metric's name for its best value. In a tie, the lower loss is better. If the text is empty, the criterion in the
  /// loaded state applies, or the loss if no state was loaded. run() throws an Error if the data don't measure this
  /// metric, or if the run already has a best evaluation by another criterion.
  std::string best_by;
  std::string license;  ///< ModelCard::license of the checkpoints
  std::string about;    ///< ModelCard::about of the checkpoints
  /// The trainer calls this after each step, before the evaluation that may follow. If it returns false, the run saves
  /// and stops, unless the step was the last one.
  std::function<bool(const Progress&)> progress;
  /// The trainer calls this after each evaluation and its save, with the number of completed steps.
  std::function<void(std::int64_t step, const Evaluation&)> evaluated;
  /// The trainer calls this after each step and before each batch of an evaluation. If it returns true, the run saves
  /// and stops. If this stops an evaluation, the resumed run begins with that evaluation.
  std::function<bool()> stop;
  /// The trainer calls this if a save fails, except for the last save. If it returns true, the run continues, and the
  /// previous save stays unchanged. If it is null, the Error ends the run.
  std::function<bool(const Error&)> save_failed;
};

/// The best evaluation of a run so far, see RunOptions::best_by.
struct BestEvaluation {
  std::int64_t step = 0;  ///< number of completed steps
  double loss = 0;        ///< in nats
  double metric = 0;      ///< the value of the metric that RunOptions::best_by names; 0 if the criterion is the loss
};

/// The result of Trainer::run.
struct RunResult {
  bool stopped = false;                  ///< `progress` or `stop` ended the run
  bool out_of_patience = false;          ///< RunOptions::patience ended the run before its last step
  std::optional<Evaluation> evaluation;  ///< the evaluation after the last step; none if the run was stopped
  double tokens_per_second = 0;          ///< speed of training, without evaluations and saves
  double seconds = 0;                    ///< total duration of the steps
  double data_wait = 0;                  ///< fraction of this duration in which steps waited for batches
  std::uint64_t bytes_sent = 0;          ///< bytes of gradients that this rank sent to other ranks
  double seconds_waited = 0;  ///< total time, in seconds, in which this rank only waited for gradients of other ranks
};

namespace detail {
class WEFT_HIDDEN BatchAhead;
class WEFT_HIDDEN GradientExchange;
class WEFT_HIDDEN RoundedWeights;
class WEFT_HIDDEN WeightAverage;
}  // namespace detail

/// Trains one model. Only one thread may use a trainer. During a step, no other thread may use the model, because the
/// step writes its parameters. The trainer has its own threads, which call Data::training() for the next batches while
/// a step computes, see TrainOptions::loaders.
class Trainer {
 public:
  /// Training and evaluation use the model's precision, which must not change afterwards. Throws an Error if the model
  /// and the data differ in task, number of symbols or length, or if an option is out of its range. With several ranks,
  /// an Error on one rank occurs on all ranks, and a difference between the ranks is also an Error. The model and the
  /// data must outlive the trainer. The parameters become views of one buffer, so a model has at most one trainer at a
  /// time.
  Trainer(Model& model, const Data& data, const TrainOptions& options);
  ~Trainer();

  /// The number of completed steps, including those before the state was saved and loaded.
  std::int64_t steps_done() const noexcept { return step_; }
  /// The best evaluation of this trainer's runs and of the runs whose state it loaded. There is no value before the
  /// first evaluation.
  const std::optional<BestEvaluation>& best() const noexcept { return best_; }
  const std::string& best_by() const noexcept { return best_by_; }  ///< "loss", or the name of a metric
  /// Makes one training step and returns its loss in nats. If the loss or the gradient is not finite, or if memory runs
  /// out, it throws an Error and changes nothing, so the caller can repeat the step.
  double step();
  /// Makes steps up to options.schedule.steps, then evaluates and saves. If a step fails, the Error names the step, and
  /// the folder keeps its last save. The process may end at any time. A trainer that then loads the state from the
  /// folder continues with the same bits, and removes the metrics of steps after the saved one.
  RunResult run(const RunOptions& options);

  /// Calls body() while the model holds the parameters of evaluations and checkpoints: their moving average, if
  /// TrainOptions::ema asks for one, rounded if TrainOptions::fake_quant asks for it. Outside this call, even after
  /// run(), the model holds the exact parameters of the last step. In body(), it is an Error to make a step, or to save
  /// or load a state.
  void with_average(const std::function<void()>& body);

  /// Describes the model, the data and the options as JSON. run() writes this to run.json if it opens the folder
  /// itself.
  std::string description() const;
  /// Returns what the checkpoints of a run record now, without the results of an evaluation.
  CheckpointInfo checkpoint_info() const;
  /// Writes the parameters, the optimizer's state, the step and the options to a file. Another trainer can continue
  /// from this file.
  void save_state(const std::string& path);
  /// Loads a state that save_state() wrote. Throws an Error if the file is damaged, or if it belongs to another model,
  /// tokenizer, data set, seed, optimizer or schedule.
  void load_state(const std::string& path);
  /// Whether the checkpoint is the one that a run saves after the evaluation at this step. Such a checkpoint has this
  /// step, a validation loss, and this model's parameters, bit by bit. If the result is false, a run that was stopped
  /// has not yet written this checkpoint.
  bool is_saved_as(const Checkpoint& checkpoint) const;

 private:
  struct WEFT_HIDDEN Run;
  double step_in_region();
  double learning_rate_of(std::int64_t step) const;
  void check_exact_parameters() const;
  double add_gradient(const Batch& batch, std::int64_t number, double share, GradientSink& sink);
  std::unique_ptr<detail::GradientExchange> make_exchange();
  void forget_rounding();
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
  void save_model(const Run& run, const std::string& folder, const std::optional<Evaluation>& evaluation) const;
  Tensor training_loss(const Batch& batch, const Random& dropout) const;
  struct WEFT_HIDDEN Counted;
  std::vector<double> shares(const std::vector<Counted>& batches) const;

  Model& model_;
  const Data& data_;
  TrainOptions options_;
  Optimizer optimizer_;
  std::unique_ptr<detail::WeightAverage> average_;   // null if there is no average
  std::unique_ptr<detail::RoundedWeights> rounded_;  // null without fake_quant
  Random batches_, dropout_;
  std::int64_t step_ = 0;
  std::int64_t tokens_ = 0;      // number of tokens in all steps
  double gradient_norm_ = 0;     // of the last step
  double learning_rate_ = 0;     // of the last step
  bool equal_shares_ = false;    // whether micro-batches have equal weights, as in runs that an earlier version began
  bool evaluation_due_ = false;  // after step_; a resumed run evaluates before it continues
  std::optional<BestEvaluation> best_;                  // before the due evaluation
  std::string best_by_ = "loss";                        // or the name of a metric
  bool lower_is_better_ = false;                        // of that metric
  std::int64_t without_better_ = 0;                     // evaluations since the best
  std::unique_ptr<detail::BatchAhead> ahead_;           // null before the first step
  std::unique_ptr<detail::GradientExchange> exchange_;  // null before the first step, or without ranks
};

/// The result of evaluating a run on a test set.
struct TestResult {
  std::int64_t step = 0;  ///< the step of the checkpoint
  Evaluation evaluation;  ///< the evaluation on the test set
};

/// Evaluates a run's best checkpoint, or the last one if there is no best, on a test set. A test set is data that
/// influenced no choice in the run. The function computes the same values as `weft eval` and appends
/// {"step":…,"test_loss":…,…} to the run's metrics. Resuming the run removes that line. The function calls `stop`
/// before each batch, and returns no value as soon as `stop` returns true. Throws an Error if the loss isn't finite, or
/// if the data have another task or tokenizer.
std::optional<TestResult> test_run(const RunFolder& folder, const Data& data,
                                   const std::function<bool()>& stop = nullptr);
/// Whether the metrics of the run in this folder contain a test result.
bool is_tested(const std::string& folder);

}  // namespace weft
WEFT_PUBLIC_END
