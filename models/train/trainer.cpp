#include "weft/trainer.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <filesystem>

#include "weft/checkpoint.h"
#include "weft/update_rules.h"

namespace weft {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

TrainOptions checked(const TrainOptions& options) {
  const Schedule& s = options.schedule;
  if (s.steps < 1 || s.warmup < 0 || options.micro_batches < 1)
    throw Error("[train] expected steps and micro-batches of at least 1 and a warm-up of at least 0");
  if (!(s.peak > 0) || !std::isfinite(s.peak))
    throw Error("[train] expected a learning rate above 0, got " + std::to_string(s.peak));
  if (!(s.floor >= 0)) throw Error("[train] expected a floor of at least 0, got " + std::to_string(s.floor));
  return options;
}

bool same_bits(const Tensor& a, const Tensor& b) {
  if (a.shape() != b.shape() || a.dtype() != b.dtype()) return false;
  const Tensor x = raw::contiguous(a), y = raw::contiguous(b);
  return std::memcmp(x.raw(), y.raw(), static_cast<std::size_t>(x.numel()) * dtype_size(x.dtype())) == 0;
}

}  // namespace

Trainer::Trainer(Model& model, const Data& data, const TrainOptions& options)
    : model_(model),
      data_(data),
      options_(checked(options)),
      optimizer_(model.parameters(), options.optimizer),
      batches_(Random(options.seed).split(1)),
      dropout_(Random(options.seed).split(2)) {
  if (model.task() != data.task() || model.vocabulary() != data.vocabulary().size())
    throw Error(std::string("[train] the model is a ") + task_name(model.task()) + " of " +
                std::to_string(model.vocabulary()) + " symbols, the data are for a " + task_name(data.task()) + " of " +
                std::to_string(data.vocabulary().size()));
  if (model.max_length() > 0 && data.length() > model.max_length())
    throw Error("[train] sequences of " + std::to_string(data.length()) + " tokens; the model takes at most " +
                std::to_string(model.max_length()));
}

double Trainer::step() {
  const std::int64_t step = step_ + 1;
  const std::string where = "[train] step " + std::to_string(step) + ": ";
  const double share = 1 / static_cast<double>(options_.micro_batches);
  double loss = 0;
  optimizer_.parameters().zero_gradients();
  for (std::int64_t k = step_ * options_.micro_batches; k < step * options_.micro_batches; ++k) {
    const Batch batch = data_.training(k, batches_);
    const Random dropout = dropout_.split(static_cast<std::uint64_t>(k));
    Tape tape;
    const Tensor mean = data_.loss(model_(batch.tokens, &dropout), batch);
    if (!std::isfinite(mean.item())) throw Error(where + "the loss is " + std::to_string(mean.item()));
    loss += mean.item() * share;
    tokens_ += batch.tokens.numel();
    tape.backward(mean, Tensor::full(mean.shape(), share, mean.dtype()), optimizer_.parameters());
  }
  try {
    optimizer_.step(step, options_.schedule(step));
  } catch (const Error& error) {
    throw Error(where + error.what());
  }
  step_ = step;
  return loss;
}

bool Trainer::is_saved_as(const Checkpoint& checkpoint) const {
  if (checkpoint.info.step != step_ || !checkpoint.info.validation_loss) return false;
  if (model_description(*checkpoint.model, checkpoint.vocabulary) != model_description(model_, data_.vocabulary()))
    return false;
  const NamedParameters saved = checkpoint.model->parameters(), own = model_.parameters();
  return std::equal(own.begin(), own.end(), saved.begin(), saved.end(), [](const auto& a, const auto& b) {
    return a.first == b.first && same_bits(a.second.value(), b.second.value());
  });
}

void Trainer::save_running_state(const std::string& folder) {
  if (folder.empty()) return;
  if (!std::isfinite(l2_norm(optimizer_.parameters().values())))
    throw Error("[train] after step " + std::to_string(step_) + ": the parameters are not finite");
  std::error_code ignored;  // save_state says what is wrong
  std::filesystem::create_directories(folder, ignored);
  save_state(state_path(folder));
}

void Trainer::save_model(const std::string& folder, const std::optional<Evaluation>& evaluation) const {
  if (folder.empty()) return;
  CheckpointInfo info;
  info.step = step_;
  info.length = data_.length();
  if (evaluation) info.validation_loss = evaluation->loss;
  save_checkpoint(folder, model_, data_.vocabulary(), info);
}

// The state comes first, and says that the evaluation is due: whenever the run ends from here on, no step is lost, and
// the resumed run writes all that was to follow.
std::optional<Evaluation> Trainer::evaluate_and_save(const RunOptions& run) {
  save_running_state(run.folder);
  const std::optional<Evaluation> evaluation = evaluate(model_, data_, run.stop);
  if (evaluation && !std::isfinite(evaluation->loss))
    throw Error("[train] after step " + std::to_string(step_) + ": the validation loss is " +
                std::to_string(evaluation->loss));
  save_model(run.folder, evaluation);
  if (!evaluation) return evaluation;
  evaluation_due_ = false;
  if (run.evaluated) run.evaluated(step_, *evaluation);
  return evaluation;
}

Progress Trainer::timed_step(RunResult& so_far, std::int64_t first, std::int64_t first_tokens) {
  Progress progress;
  const auto before = Clock::now();
  progress.loss = step();
  so_far.seconds += seconds_since(before);
  so_far.tokens_per_second = static_cast<double>(tokens_ - first_tokens) / so_far.seconds;
  progress.step = step_;
  progress.steps = options_.schedule.steps;
  progress.learning_rate = options_.schedule(step_);
  progress.tokens_per_second = so_far.tokens_per_second;
  progress.seconds_left =
      so_far.seconds / static_cast<double>(step_ - first) * static_cast<double>(progress.steps - step_);
  return progress;
}

RunResult Trainer::run(const RunOptions& run) {
  RunResult result;
  const std::int64_t first = step_, steps = options_.schedule.steps, first_tokens = tokens_;
  evaluation_due_ = evaluation_due_ || step_ >= steps;
  for (;;) {
    if (evaluation_due_) {
      result.evaluation = evaluate_and_save(run);
      result.stopped = !result.evaluation;
      if (result.stopped || step_ >= steps) return result;
    }
    const Progress progress = timed_step(result, first, first_tokens);
    evaluation_due_ = step_ == steps || (run.eval_every > 0 && step_ % run.eval_every == 0);
    const bool go_on = !run.progress || run.progress(progress);
    if (step_ == steps || (go_on && !(run.stop && run.stop()))) continue;
    save_running_state(run.folder);
    save_model(run.folder, {});
    result.evaluation.reset();
    result.stopped = true;
    return result;
  }
}

}  // namespace weft
