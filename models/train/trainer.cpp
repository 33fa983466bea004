#include "weft/trainer.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <exception>
#include <filesystem>
#include <memory>
#include <numeric>

#include "base/sequence.h"
#include "data/equal_lengths.h"
#include "data/labels.h"
#include "train/batch_ahead.h"
#include "train/evaluate.h"
#include "train/gather.h"
#include "train/gradient_exchange.h"
#include "train/metrics.h"
#include "train/weight_average.h"
#include "weft/checkpoint.h"
#include "weft/context.h"
#include "weft/detail/out_of_memory.h"
#include "weft/ops.h"
#include "weft/run_folder.h"
#include "weft/update_rules.h"

namespace weft {
using namespace detail;

namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

TrainOptions checked(const TrainOptions& options) {
  const Schedule& s = options.schedule;
  if (s.steps < 1 || s.warmup < 0 || options.micro_batches < 1)
    throw Error("[train] expected steps and micro-batches of at least 1 and a warm-up of at least 0");
  const std::vector<std::string> known = schedules();
  if (s.own.rate && (s.own.name.empty() || std::find(known.begin(), known.end(), s.own.name) != known.end()))
    throw Error("[train] expected a custom schedule with a name that no other schedule has, got \"" + s.own.name +
                "\"");
  if (!(options.ema >= 0 && options.ema < 1))
    throw Error("[train] expected a decay of the moving average of at least 0 and below 1, got " +
                std::to_string(options.ema));
  if (!(s.peak > 0) || !std::isfinite(s.peak))
    throw Error("[train] expected a learning rate above 0, got " + std::to_string(s.peak));
  if (!(options.label_smoothing >= 0) || options.label_smoothing >= 1)
    throw Error("[train] expected a label smoothing of 0 or more and less than 1, got " +
                std::to_string(options.label_smoothing));
  if (!(s.floor >= 0) || !std::isfinite(s.floor))
    throw Error("[train] expected a floor of at least 0, got " + std::to_string(s.floor));
  if (options.loaders && (*options.loaders < 0 || *options.loaders > 64))
    throw Error("[train] expected 0 to 64 loaders, got " + std::to_string(*options.loaders));
  return options;
}

bool same_bits(const Tensor& a, const Tensor& b) {
  if (a.shape() != b.shape() || a.dtype() != b.dtype()) return false;
  const Tensor x = raw::contiguous(a), y = raw::contiguous(b);
  return std::memcmp(x.raw(), y.raw(), static_cast<std::size_t>(x.numel()) * dtype_size(x.dtype())) == 0;
}

// (1 - ε) · loss - ε · the mean of log p over all targets and all classes.
Tensor smoothed(const Tensor& loss, const Tensor& logits, const Tensor& target, double epsilon) {
  if (epsilon == 0) return loss;
  if (target.dtype() != DType::i64)
    throw Error("[train] label smoothing needs targets that are classes, got " +
                std::string(dtype_name(target.dtype())));
  const Tensor output = widened(logits);
  std::vector<double> weights;
  for (const std::int64_t t : target.to_vector<std::int64_t>()) weights.push_back(t < 0 ? 0 : 1);
  const double count = std::accumulate(weights.begin(), weights.end(), 0.0);
  for (double& weight : weights) weight /= count;
  const Tensor weight = raw::convert(Tensor::from(weights, target.shape()), output.dtype());
  const Tensor uniform = sum(mul(mean(log_softmax(output, -1), {-1}), weight));
  return sub(scale(loss, 1 - epsilon), scale(uniform, epsilon));
}

// NaN is shown without its sign, which has no meaning. The message names options of weft train that may help.
[[noreturn]] void fail_loss(const std::string& what, double loss) {
  throw Error(
      "[train] " + what + " is " + (std::isnan(loss) ? "nan" : std::to_string(loss)) +
      "; a lower learning rate (--lr), a longer warmup (--warmup) or a smaller clip (--clip) may keep it finite");
}

}  // namespace

// The state of run() from one step to the next.
struct Trainer::Run {
  Run(const Trainer& trainer, const RunOptions& run)
      : options(run),
        own(trainer.rank() == 0 && run.open == nullptr && !run.folder.empty() ? std::make_unique<RunFolder>(run.folder)
                                                                              : nullptr),
        folder(own                   ? own.get()
               : trainer.rank() == 0 ? run.open
                                     : nullptr),
        first_step(trainer.step_),
        first_tokens(trainer.tokens_) {
    if (own && trainer.step_ == 0) own->begin(trainer.description());
    if (trainer.exchange_) {
      bytes_sent = trainer.exchange_->bytes_sent();
      seconds_waited = trainer.exchange_->seconds_waited();
    }
    if (trainer.ahead_) waited_for_data = trainer.ahead_->seconds_waited();
    if (folder != nullptr) metrics = Metrics(metrics_path(folder->path()), trainer.step_);
  }

  // Calls body() if there is a folder. Returns false if it failed and save_failed allows the run to continue.
  template <class Body>
  bool save(Body body) {
    if (folder == nullptr) return true;
    try {
      body();
      return true;
    } catch (const Error& error) {
      if (!options.save_failed || !options.save_failed(error)) throw;
      failed = std::current_exception();
      return false;
    }
  }
  // Ends the run, or throws if the last save failed.
  RunResult ended(Ranks* ranks) {
    if (failed) std::rethrow_exception(failed);
    if (ranks != nullptr) ranks->gather("");
    return result;
  }

  const RunOptions& options;
  std::unique_ptr<RunFolder> own;
  RunFolder* folder;  // null: none
  Metrics metrics;
  std::int64_t first_step, first_tokens;
  std::uint64_t bytes_sent = 0;  // before this run
  double seconds_waited = 0;     // for gradients, before this run
  double waited_for_data = 0;    // before this run
  std::exception_ptr failed;     // the failure of the last save
  RunResult result;
};

Trainer::Trainer(Model& model, const Data& data, const TrainOptions& options) try
    : model_(model),
      data_(data),
      options_(checked(options)),
      optimizer_(model.parameters(), options.optimizer),
      average_(options.ema > 0 ? std::make_unique<WeightAverage>(optimizer_.parameters(), options.ema) : nullptr),
      batches_(Random(options.seed).split(1)),
      dropout_(Random(options.seed).split(2)) {
  if (model.task() != data.task() || model.vocabulary() != data.tokenizer()->size())
    throw Error(std::string("[train] the model is a ") + task_name(model.task()) + " of " +
                std::to_string(model.vocabulary()) + " symbols; the data are for a " + task_name(data.task()) + " of " +
                std::to_string(data.tokenizer()->size()));
  if (model.input().channels != data.input().channels)
    throw Error("[train] the model reads frames of " + std::to_string(model.input().channels) +
                " channels; the data have " + std::to_string(data.input().channels));
  if (task_source(model.task()) == Source::rows) check_padding(model, *data.tokenizer(), "train");
  if (model.max_length() > 0 && data.length() > model.max_length())
    throw Error("[train] sequences of " + std::to_string(data.length()) + " tokens; the model takes at most " +
                std::to_string(model.max_length()));
  if (options.label_smoothing > 0 && model.task() == Task::retrieval)
    throw Error("[train] label smoothing is for classes; a retrieval learns vectors");
  if (options_.ranks != nullptr) check_ranks();
} catch (const std::bad_alloc&) {
  with_ranks(options.ranks, [] { fail_out_of_memory("train"); });
} catch (...) {
  with_ranks(options.ranks, [] { throw; });
}

// What a micro-batch counts.
struct Trainer::Counted {
  std::int64_t predicted, tokens;
};

// Each micro-batch's share of the mean over everything that they predict.
std::vector<double> Trainer::shares(const std::vector<Counted>& batches) const {
  std::int64_t predicted = 0;
  for (const Counted& batch : batches) predicted += batch.predicted;
  std::vector<double> shares;
  for (const Counted& batch : batches)
    shares.push_back(equal_shares_ || predicted == 0
                         ? 1 / static_cast<double>(batches.size())
                         : static_cast<double>(batch.predicted) / static_cast<double>(predicted));
  return shares;
}

// The mean over everything that the batch predicts; the rows of each length are computed separately.
Tensor Trainer::training_loss(const Batch& batch, const Random& dropout) const {
  const std::vector<Batch> pieces = equal_lengths(batch);
  const bool whole = pieces.size() == 1;
  Tensor mean;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    const Batch& piece = pieces[i];
    const Random random = whole ? dropout : dropout.split(i);
    const Tensor output = model_.forward({piece.tokens, piece.frames}, &random);
    const Tensor loss = smoothed(data_.loss(output, piece), output, piece.target, options_.label_smoothing);
    if (whole) return loss;
    const Tensor part = scale(loss, static_cast<double>(piece.predicted) / static_cast<double>(batch.predicted));
    mean = i == 0 ? part : add(mean, part);
  }
  return mean;
}

Trainer::~Trainer() = default;

double Trainer::step() try {
  double loss = 0;
  with_ranks(options_.ranks, [&] { Context::current().parallel_region([&] { loss = step_in_region(); }); });
  return loss;
} catch (const std::bad_alloc&) {
  fail_out_of_memory("train");
}

// Returns the loss of the step's micro-batch `number`. Adds its gradient, times `share`, to the sink.
double Trainer::add_gradient(const Batch& batch, std::int64_t number, double share, GradientSink& sink) {
  const Random dropout = dropout_.split(static_cast<std::uint64_t>(step_ * options_.micro_batches + number));
  Tape tape;
  const Tensor mean = training_loss(batch, dropout);
  if (!std::isfinite(mean.item())) fail_loss("step " + std::to_string(step_ + 1) + ": the loss", mean.item());
  tape.backward(mean, Tensor::full(mean.shape(), share, mean.dtype()), sink);
  return mean.item();
}

void Trainer::check_no_average_in_use() const {
  if (average_ && average_->is_in_use())
    throw Error(
        "[train] the model has the moving average of its parameters now: expected no step, and no state to be "
        "saved or loaded");
}

double Trainer::learning_rate_of(std::int64_t step) const {
  const double rate = options_.schedule(step);
  if (!std::isfinite(rate))
    throw Error("the learning rate of schedule \"" + options_.schedule.name() + "\" is " + std::to_string(rate));
  return rate;
}

void Trainer::with_average(const std::function<void()>& body) {
  const WeightAverage::InUse in_use(average_.get());
  body();
}

double Trainer::step_in_region() {
  check_no_average_in_use();
  const std::int64_t step = step_ + 1;
  if (!ahead_)
    ahead_ = std::make_unique<BatchAhead>(data_, batches_, options_.schedule.steps, options_.micro_batches, rank(),
                                          ranks(), options_.loaders.value_or(BatchAhead::usual_loaders()));
  if (options_.ranks != nullptr && !exchange_)
    exchange_ = std::make_unique<GradientExchange>(*options_.ranks, optimizer_.parameters(),
                                                   (options_.micro_batches + ranks() - 1) / ranks());
  const std::vector<Batch> batches = ahead_->take(step_);
  std::vector<Counted> own;
  for (const Batch& batch : batches) own.push_back({batch.predicted, token_count(batch, model_)});
  const std::vector<Counted> counted = gathered(options_.ranks, own, options_.micro_batches);
  const std::vector<double> share = shares(counted);
  std::vector<double> losses;
  if (options_.ranks != nullptr) {
    losses = exchange_gradients(batches, share);
  } else {
    optimizer_.parameters().zero_gradients();
    for (std::size_t i = 0; i < batches.size(); ++i)
      losses.push_back(add_gradient(batches[i], static_cast<std::int64_t>(i), share[i], optimizer_.parameters()));
  }
  try {
    const double rate = learning_rate_of(step);
    gradient_norm_ = optimizer_.step(step, rate);
    learning_rate_ = rate;
  } catch (const Error& error) {
    throw Error("[train] step " + std::to_string(step) + ": " + error.what());
  }
  if (average_) average_->add(step);
  step_ = step;
  for (const Counted& batch : counted) tokens_ += batch.tokens;
  return std::inner_product(losses.begin(), losses.end(), share.begin(), 0.0);
}

bool Trainer::is_saved_as(const Checkpoint& checkpoint) const {
  if (checkpoint.info.step != step_ || !checkpoint.info.validation_loss) return false;
  if (model_description(*checkpoint.model, *checkpoint.tokenizer) != model_description(model_, *data_.tokenizer()))
    return false;
  const NamedParameters saved = checkpoint.model->parameters(), own = model_.parameters();
  const WeightAverage::InUse in_use(average_.get());
  return std::equal(own.begin(), own.end(), saved.begin(), saved.end(), [](const auto& a, const auto& b) {
    return a.first == b.first && same_bits(a.second.value(), b.second.value());
  });
}

// Throws an Error unless the parameters are finite and, with several ranks, equal on all of them.
void Trainer::check_parameters() {
  if (!std::isfinite(l2_norm(optimizer_.parameters().values())))
    throw Error("[train] after step " + std::to_string(step_) + ": the parameters are not finite");
  if (options_.ranks != nullptr) check_same_parameters();
}

void Trainer::save_running_state(const std::string& folder) {
  std::error_code ignored;  // save_state reports the problem
  std::filesystem::create_directories(last_path(folder), ignored);
  save_state(state_path(folder));
}

void Trainer::save_model(const std::string& folder, const std::optional<Evaluation>& evaluation) const {
  CheckpointInfo info;
  info.step = step_;
  info.length = data_.length();
  info.labels = data_.labels();
  info.pad_to = data_.pad_to();
  if (evaluation) info.validation_loss = evaluation->loss;
  const WeightAverage::InUse in_use(average_.get());
  save_checkpoint(folder, model_, *data_.tokenizer(), info);
}

void Trainer::decide_best_by(const std::string& name) {
  if (name.empty() || name == best_by_) return;
  if (best_)
    throw Error("[train] expected the best checkpoint by " + best_by_ + ", like the existing one of this run, got by " +
                name);
  const auto meter = data_.meter();
  std::string names = "loss";
  bool is_measured = name == "loss";
  for (const Metric& metric : meter ? meter->metrics() : std::vector<Metric>()) {
    names += ", " + metric.name;
    is_measured = is_measured || name == metric.name;
  }
  if (!is_measured) throw Error("[train] expected the best checkpoint by one of " + names + ", got by " + name);
  best_by_ = name;
}

bool Trainer::is_better(const BestEvaluation& evaluation) const {
  if (!best_ || (lower_is_better_ ? evaluation.metric < best_->metric : evaluation.metric > best_->metric)) return true;
  return evaluation.metric == best_->metric && evaluation.loss < best_->loss;
}

// The state is saved first, and says that the evaluation is due. If the run ends at any later point, no step is lost,
// and the resumed run writes everything that was still missing. The last checkpoint is saved last: it shows that
// everything is done.
void Trainer::evaluate_and_save(Run& run) {
  check_parameters();
  run.failed = nullptr;
  run.save([&] { save_running_state(run.folder->path()); });
  std::optional<Evaluation> evaluation;
  with_average([&] { evaluation = detail::evaluate(model_, data_, run.options.stop, options_.ranks); });
  run.result.stopped = !evaluation;
  run.result.evaluation = evaluation;
  if (evaluation && !std::isfinite(evaluation->loss))
    fail_loss("after step " + std::to_string(step_) + ": the validation loss", evaluation->loss);
  if (evaluation) {
    BestEvaluation reached{step_, evaluation->loss};
    for (const Metric& metric : evaluation->metrics)  // with several ranks, only the first may have them
      if (metric.name == best_by_) {
        reached.metric = metric.value;
        lower_is_better_ = metric.lower_is_better;
      }
    const bool better = is_better(reached);
    without_better_ = better ? 0 : without_better_ + 1;
    run.save([&] { run.metrics.add(step_, *evaluation); });
    if (better && run.save([&] { save_model(best_path(run.folder->path()), evaluation); })) best_ = reached;
  }
  run.save([&] {
    save_model(last_path(run.folder->path()), evaluation);
    run.folder->saved();
  });
  if (!evaluation) return;
  evaluation_due_ = false;
  const std::int64_t patience = run.options.patience;
  const bool enough = rank() == 0 && patience > 0 && without_better_ >= patience && step_ < options_.schedule.steps;
  run.result.out_of_patience = on_any(options_.ranks, enough);
  if (run.options.evaluated) run.options.evaluated(step_, *evaluation);
}

Progress Trainer::timed_step(Run& run) {
  Progress progress;
  RunResult& so_far = run.result;
  const auto before = Clock::now();
  progress.loss = step();
  so_far.seconds += seconds_since(before);
  so_far.data_wait = (ahead_->seconds_waited() - run.waited_for_data) / so_far.seconds;
  if (exchange_) {
    so_far.bytes_sent = exchange_->bytes_sent() - run.bytes_sent;
    so_far.seconds_waited = exchange_->seconds_waited() - run.seconds_waited;
  }
  so_far.tokens_per_second = static_cast<double>(tokens_ - run.first_tokens) / so_far.seconds;
  progress.step = step_;
  progress.steps = options_.schedule.steps;
  progress.learning_rate = learning_rate_;
  progress.gradient_norm = gradient_norm_;
  progress.tokens_per_second = so_far.tokens_per_second;
  progress.data_wait = so_far.data_wait;
  progress.seconds_left =
      so_far.seconds / static_cast<double>(step_ - run.first_step) * static_cast<double>(progress.steps - step_);
  run.save([&] { run.metrics.add(progress, so_far.seconds); });
  return progress;
}

RunResult Trainer::run(const RunOptions& options) try {
  return with_ranks(options_.ranks, [&] { return steps_and_saves(options); });
} catch (const std::bad_alloc&) {
  fail_out_of_memory("train");
}

RunResult Trainer::steps_and_saves(const RunOptions& options) {
  if (options_.ranks != nullptr)  // these decide which calls all ranks must make
    check_alike(*options_.ranks, {{"step", std::to_string(step_)},
                                  {"eval-every", std::to_string(options.eval_every)},
                                  {"best-by", options.best_by}});
  Run run(*this, options);
  // If the best checkpoint was removed, there is no best evaluation.
  if (best_ && run.folder != nullptr && !std::filesystem::exists(best_path(run.folder->path()))) best_.reset();
  decide_best_by(options.best_by);
  const std::int64_t steps = options_.schedule.steps;
  evaluation_due_ = evaluation_due_ || step_ >= steps;
  for (;;) {
    if (evaluation_due_) {
      evaluate_and_save(run);
      if (run.result.stopped || run.result.out_of_patience || step_ >= steps) return run.ended(options_.ranks);
    }
    const Progress progress = timed_step(run);
    evaluation_due_ = step_ == steps || (options.eval_every > 0 && step_ % options.eval_every == 0);
    const bool go_on = !options.progress || options.progress(progress);
    if (step_ == steps || !on_any(options_.ranks, !go_on || (options.stop && options.stop()))) continue;
    run.result.stopped = true;
    run.result.evaluation.reset();
    check_parameters();
    run.failed = nullptr;
    run.save([&] {
      save_running_state(run.folder->path());
      save_model(last_path(run.folder->path()), {});
      run.folder->saved();
    });
    return run.ended(options_.ranks);
  }
}

}  // namespace weft
