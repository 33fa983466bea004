// Trainer::run: steps, evaluations and saves.
#include <algorithm>
#include <chrono>
#include <exception>
#include <filesystem>
#include <memory>

#include "checkpoint/load_parameters.h"
#include "checkpoint/model_card.h"
#include "train/batch_ahead.h"
#include "train/evaluate.h"
#include "train/gather.h"
#include "train/gradient_exchange.h"
#include "train/metrics.h"
#include "train/not_finite.h"
#include "train/rounded_weights.h"
#include "train/weight_average.h"
#include "weft/checkpoint.h"
#include "weft/detail/out_of_memory.h"
#include "weft/detail/utf8_path.h"
#include "weft/run_folder.h"
#include "weft/trainer.h"
#include "weft/update_rules.h"

namespace weft {
using namespace detail;

namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

}  // namespace

// The state that run() keeps from one step to the next.
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

bool Trainer::is_saved_as(const Checkpoint& checkpoint) const {
  if (checkpoint.info.step != step_ || !checkpoint.info.validation_loss) return false;
  if (model_description(*checkpoint.model, *checkpoint.tokenizer) != model_description(model_, *data_.tokenizer()))
    return false;
  const NamedParameters saved = checkpoint.model->parameters(), own = model_.parameters();
  const WeightAverage::InUse average(average_.get());
  const RoundedWeights::InUse rounded(rounded_.get());
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
  std::filesystem::create_directories(path_of(last_path(folder)), ignored);
  save_state(state_path(folder));
}

void Trainer::save_model(const Run& run, const std::string& folder, const std::optional<Evaluation>& evaluation) const {
  CheckpointInfo info = checkpoint_info();
  info.card.license = run.options.license;
  info.card.about = run.options.about;
  if (evaluation) {
    info.validation_loss = evaluation->loss;
    for (const Metric& metric : evaluation->metrics) info.card.validation.emplace_back(metric.name, metric.value);
  }
  const WeightAverage::InUse average(average_.get());
  const RoundedWeights::InUse rounded(rounded_.get());
  save_checkpoint(folder, model_, *data_.tokenizer(), info);
}

void Trainer::decide_best_by(const std::string& name) {
  if (name.empty() || name == best_by_) return;
  if (best_)
    throw Error("[train] expected the best checkpoint to be chosen by " + best_by_ + ", as earlier in this run, got " +
                name);
  const auto meter = data_.meter();
  std::string names = "loss";
  bool is_measured = name == "loss";
  for (const Metric& metric : meter ? meter->metrics() : std::vector<Metric>()) {
    names += ", " + metric.name;
    is_measured = is_measured || name == metric.name;
  }
  if (!is_measured)
    throw Error("[train] expected the best checkpoint to be chosen by one of " + names + ", got " + name);
  best_by_ = name;
}

bool Trainer::is_better(const BestEvaluation& evaluation) const {
  if (!best_ || (lower_is_better_ ? evaluation.metric < best_->metric : evaluation.metric > best_->metric)) return true;
  return evaluation.metric == best_->metric && evaluation.loss < best_->loss;
}

// First saves the state, with a note that the evaluation is due. If the run ends at any later point, no step is lost,
// and the resumed run writes everything that is still missing. Saves the checkpoint `last` at the end, because its
// presence shows that everything else is complete.
void Trainer::evaluate_and_save(Run& run) {
  check_parameters();
  forget_rounding();
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
    for (const Metric& metric : evaluation->metrics)  // with several ranks, it is possible that only rank 0 has them
      if (metric.name == best_by_) {
        reached.metric = metric.value;
        lower_is_better_ = metric.lower_is_better;
      }
    const bool better = is_better(reached);
    without_better_ = better ? 0 : without_better_ + 1;
    run.save([&] { run.metrics.add(step_, *evaluation); });
    if (better && run.save([&] { save_model(run, best_path(run.folder->path()), evaluation); })) best_ = reached;
  }
  run.save([&] {
    save_model(run, last_path(run.folder->path()), evaluation);
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
  if (options_.ranks != nullptr)  // these options determine which calls all ranks must make
    check_alike(*options_.ranks, {{"step", std::to_string(step_)},
                                  {"eval-every", std::to_string(options.eval_every)},
                                  {"best-by", options.best_by}});
  (void)card_to_json({options.license, options.about});  // an Error now, not at the first save
  Run run(*this, options);
  // If the best checkpoint was removed, there is no best evaluation.
  if (best_ && run.folder != nullptr && !std::filesystem::exists(path_of(best_path(run.folder->path())))) best_.reset();
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
    forget_rounding();
    run.failed = nullptr;
    run.save([&] {
      save_running_state(run.folder->path());
      save_model(run, last_path(run.folder->path()), {});
      run.folder->saved();
    });
    return run.ended(options_.ranks);
  }
}

}  // namespace weft
