#include "weft/trainer.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>

#include "base/sequence.h"
#include "data/equal_lengths.h"
#include "data/labels.h"
#include "train/batch_ahead.h"
#include "train/evaluate.h"
#include "train/gather.h"
#include "train/gradient_exchange.h"
#include "train/not_finite.h"
#include "train/rounded_weights.h"
#include "train/weight_average.h"
#include "weft/context.h"
#include "weft/detail/out_of_memory.h"
#include "weft/ops.h"
#include "weft/update_rules.h"

namespace weft {
using namespace detail;

namespace {

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
  if (options.fake_quant) (void)quantization_name(*options.fake_quant);  // an Error if it is no enumerator
  (void)precision_name(options.exchange);                                // an Error if it is no enumerator
  if (options.loaders && (*options.loaders < 0 || *options.loaders > 64))
    throw Error("[train] expected 0 to 64 loaders, got " + std::to_string(*options.loaders));
  return options;
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

}  // namespace

Trainer::Trainer(Model& model, const Data& data, const TrainOptions& options) try
    : model_(model),
      data_(data),
      options_(checked(options)),
      optimizer_(model.parameters(), options.optimizer),
      average_(options.ema > 0 ? std::make_unique<WeightAverage>(optimizer_.parameters(), options.ema) : nullptr),
      rounded_(options.fake_quant ? std::make_unique<RoundedWeights>(optimizer_.parameters(), *options.fake_quant)
                                  : nullptr),
      batches_(Random(options.seed).split(1)),
      dropout_(Random(options.seed).split(2)) {
  if (model.task() != data.task() || model.vocabulary() != data.tokenizer()->size())
    throw Error(std::string("[train] the model has the task ") + task_name(model.task()) + " and " +
                std::to_string(model.vocabulary()) + " symbols, but the data have the task " + task_name(data.task()) +
                " and " + std::to_string(data.tokenizer()->size()) + " symbols");
  if (model.input().channels != data.input().channels)
    throw Error("[train] the model reads frames of " + std::to_string(model.input().channels) +
                " channels, but the data have " + std::to_string(data.input().channels));
  if (task_source(model.task()) == Source::rows) check_padding(model, *data.tokenizer(), "train");
  if (model.max_length() > 0 && data.length() > model.max_length())
    throw Error("[train] expected sequences of at most " + std::to_string(model.max_length()) +
                " tokens, the model's maximum, got " + std::to_string(data.length()));
  if (options.label_smoothing > 0 && model.task() == Task::retrieval)
    throw Error("[train] label smoothing is for classes, but a retrieval model learns vectors");
  if (options_.ranks != nullptr) check_ranks();
} catch (const std::bad_alloc&) {
  with_ranks(options.ranks, [] { fail_out_of_memory("train"); });
} catch (...) {
  with_ranks(options.ranks, [] { throw; });
}

// The counts of a micro-batch.
struct Trainer::Counted {
  std::int64_t predicted, tokens;
};

// Returns each micro-batch's share of the mean over everything that all micro-batches predict.
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

// Returns the mean loss over everything that the batch predicts. Rows of different lengths are computed separately.
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
  forget_rounding();
  fail_out_of_memory("train");
} catch (...) {
  forget_rounding();
  throw;
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

void Trainer::check_exact_parameters() const {
  if ((average_ && average_->is_in_use()) || (rounded_ && rounded_->is_in_use()))
    throw Error(
        "[train] the model currently holds the moving average of its parameters or rounded ones, so no step can be "
        "taken and no state can be saved or loaded");
}

double Trainer::learning_rate_of(std::int64_t step) const {
  const double rate = options_.schedule(step);
  if (!std::isfinite(rate))
    throw Error("the learning rate of schedule \"" + options_.schedule.name() + "\" is " + std::to_string(rate));
  return rate;
}

void Trainer::with_average(const std::function<void()>& body) {
  const WeightAverage::InUse average(average_.get());
  const RoundedWeights::InUse rounded(rounded_.get());
  body();
}

double Trainer::step_in_region() {
  check_exact_parameters();
  const std::int64_t step = step_ + 1;
  if (!ahead_)
    ahead_ = std::make_unique<BatchAhead>(data_, batches_, options_.schedule.steps, options_.micro_batches, rank(),
                                          ranks(), options_.loaders.value_or(BatchAhead::usual_loaders()));
  if (options_.ranks != nullptr && !exchange_) exchange_ = make_exchange();
  const std::vector<Batch> batches = ahead_->take(step_);
  std::vector<Counted> own;
  for (const Batch& batch : batches) own.push_back({batch.predicted, token_count(batch, model_)});
  const std::vector<Counted> counted = gathered(options_.ranks, own, options_.micro_batches);
  const std::vector<double> share = shares(counted);
  std::vector<double> losses;
  if (rounded_)  // parameters that are not finite can't be rounded
    if (const double norm = l2_norm(optimizer_.parameters().values()); !std::isfinite(norm))
      fail_loss("step " + std::to_string(step) + ": the norm of the parameters", norm);
  {
    const RoundedWeights::InUse rounded(rounded_.get());
    if (options_.ranks != nullptr) {
      losses = exchange_gradients(batches, share);
    } else {
      optimizer_.parameters().zero_gradients();
      for (std::size_t i = 0; i < batches.size(); ++i)
        losses.push_back(add_gradient(batches[i], static_cast<std::int64_t>(i), share[i], optimizer_.parameters()));
    }
  }
  try {
    const double rate = learning_rate_of(step);
    gradient_norm_ = optimizer_.step(step, rate);
    learning_rate_ = rate;
  } catch (const NotFinite& error) {
    throw NotFinite("[train] step " + std::to_string(step) + ": " + error.what());
  } catch (const Error& error) {
    throw Error("[train] step " + std::to_string(step) + ": " + error.what());
  }
  if (average_) average_->add(step);
  step_ = step;
  for (const Counted& batch : counted) tokens_ += batch.tokens;
  return std::inner_product(losses.begin(), losses.end(), share.begin(), 0.0);
}

}  // namespace weft
