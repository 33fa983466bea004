#include "weft/trainer.h"

#include <chrono>
#include <cmath>
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

Evaluation Trainer::checked_evaluation() const {
  Evaluation evaluation = evaluate(model_, data_);
  if (!std::isfinite(evaluation.loss))
    throw Error("[train] after step " + std::to_string(step_) + ": the validation loss is " +
                std::to_string(evaluation.loss));
  return evaluation;
}

// The state first: if only that is written, a resumed run goes on from there and the checkpoint is still whole.
void Trainer::save(const std::string& folder, const std::optional<Evaluation>& evaluation) {
  if (folder.empty()) return;
  if (!std::isfinite(l2_norm(optimizer_.parameters().values())))
    throw Error("[train] after step " + std::to_string(step_) + ": the parameters are not finite");
  CheckpointInfo info;
  info.step = step_;
  info.length = data_.length();
  info.labels = data_.labels();
  info.pad_to = data_.pad_to();
  if (evaluation) info.validation_loss = evaluation->loss;
  std::error_code ignored;  // save_state says what is wrong
  std::filesystem::create_directories(folder, ignored);
  save_state(state_path(folder));
  save_checkpoint(folder, model_, data_.vocabulary(), info);
}

RunResult Trainer::run(const RunOptions& run) {
  RunResult result;
  const std::int64_t first = step_, steps = options_.schedule.steps, first_tokens = tokens_;
  while (step_ < steps && !result.stopped) {
    Progress progress;
    const auto before = Clock::now();
    progress.loss = step();
    result.seconds += seconds_since(before);
    result.tokens_per_second = static_cast<double>(tokens_ - first_tokens) / result.seconds;
    progress.step = step_;
    progress.steps = steps;
    progress.learning_rate = options_.schedule(step_);
    progress.tokens_per_second = result.tokens_per_second;
    progress.seconds_left = result.seconds / static_cast<double>(step_ - first) * static_cast<double>(steps - step_);
    if (step_ < steps && run.eval_every > 0 && step_ % run.eval_every == 0) {
      progress.evaluation = checked_evaluation();
      save(run.folder, progress.evaluation);
    }
    if (run.progress && !run.progress(progress) && step_ < steps) {
      result.stopped = true;
      if (!progress.evaluation) save(run.folder, {});
    }
  }
  if (result.stopped) return result;
  result.evaluation = checked_evaluation();
  save(run.folder, result.evaluation);
  return result;
}

}  // namespace weft
