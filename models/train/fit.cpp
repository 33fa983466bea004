#include "weft/fit.h"

#include <algorithm>
#include <cmath>

#include "weft/architecture.h"
#include "weft/task_data.h"

namespace weft {

double UsualSteps::of(double epoch) const noexcept {
  const double highest = whole_epoch ? std::max(most, epoch) : most, lowest = std::min(least, most_epochs * epoch);
  return std::max(std::min(epochs * epoch, highest), lowest);
}

double usual_rate(Source source, const std::string& optimizer, ScheduleKind schedule) {
  if (schedule == ScheduleKind::noam) return 1;
  double rate = source == Source::text ? 2e-3 : 1e-3;
  for (const OptimizerInfo& known : optimizers())
    if (known.name == optimizer) rate *= known.rate;
  return rate;
}

namespace {

// Returns the number of steps for `size` rows or tokens if a batch has `batch` of them.
std::int64_t steps_of(const FitOptions& o, std::int64_t size, std::int64_t batch, const UsualSteps& usual) {
  if (o.steps && o.epochs) throw Error("[fit] expected steps or epochs, got both");
  if (o.steps) return *o.steps;
  if (batch < 1) throw Error("[fit] expected a batch of at least 1 row, got " + std::to_string(o.batch));
  if (o.epochs && !(*o.epochs > 0)) throw Error("[fit] expected epochs above 0, got " + std::to_string(*o.epochs));
  const auto epoch = static_cast<double>((size + batch - 1) / batch);
  const double steps = o.epochs ? *o.epochs * epoch : usual.of(epoch);
  return std::llround(std::clamp(steps, 1.0, 1e15));
}

struct Prepared {
  std::unique_ptr<Model> model;
  std::unique_ptr<Data> data;
};

ModelSpec spec_of(const FitOptions& o) {
  ModelSpec spec;
  spec.arch = o.arch;
  spec.task = o.task;
  spec.config = o.config;
  return spec;
}

std::unique_ptr<Model> new_model(const FitOptions& o, const ModelSpec& spec) {
  auto model = make_model(spec, {Random(o.seed).split(0), DType::f32});
  model->set_precision(precision_from_name(o.precision));
  return model;
}

// Returns the given length, the model's maximum length, or the usual length.
std::int64_t length_of(const FitOptions& o, const Model& model, std::int64_t usual) {
  if (o.length > 0) return o.length;
  return model.max_length() > 0 ? model.max_length() : usual;
}

std::shared_ptr<const Tokenizer> tokenizer_of(const FitOptions& o, const Texts& texts) {
  TokenizerOptions options;
  options.task = o.task;
  options.size = o.vocabulary_size;
  options.min_count = o.min_count;
  return learn_tokenizer(o.tokenizer.empty() ? usual_tokenizer(o.task) : o.tokenizer, texts, options);
}

Prepared of_rows(const FitOptions& o, LabeledTexts training, LabeledTexts validation) {
  RowTask task{find_targets(o.task, training)};
  ModelSpec spec = spec_of(o);
  spec.classes = o.task == Task::retrieval ? o.dimensions : std::ssize(task.targets.outputs);
  spec.output = task.targets.output;
  const bool texts = training.content() == RowContent::texts;
  if (texts) {
    task.tokenizer = tokenizer_of(o, texts_to_learn(training, o.task));
    spec.vocabulary = task.tokenizer->size();
  } else {
    spec.input = task.input = frame_input(training, o.patch > 0 ? o.patch : usual_patch(training.picture));
  }
  Prepared made;
  made.model = new_model(o, spec);
  TaskDataOptions options;
  options.length = length_of(o, *made.model, texts ? FitOptions::usual_length : longest_row(training, spec.input));
  options.batch = o.batch;
  options.augmentation = o.augmentation;
  options.learning.balance = balance_from_name(o.balance);
  made.data = task_data(std::move(training), std::move(validation), task, options);
  return made;
}

// Throws an Error for options that have no effect on data with this content.
void check_effects(const FitOptions& o, RowContent content) {
  const auto refuse = [&](const char* option, const char* kind) {
    throw Error(std::string("[fit] ") + option + " is for " + kind + ", but the data are " + row_content_name(content));
  };
  if (content != RowContent::pictures && (o.patch != 0 || o.augmentation.shift != 0 || o.augmentation.flips))
    refuse(o.patch != 0 ? "patch" : o.augmentation.shift != 0 ? "shift" : "flips", "pictures");
  if (content != RowContent::texts && !o.tokenizer.empty()) refuse("a tokenizer", "texts");
  const bool has_classes = o.task == Task::classifier || o.task == Task::tagging;
  if (o.balance != FitOptions().balance && !has_classes)
    throw Error(std::string("[fit] the task ") + task_name(o.task) + " does not support balancing");
}

TrainOptions train_options(const FitOptions& o, std::int64_t steps) {
  TrainOptions options;
  options.schedule.kind = schedule_from_name(o.schedule);
  options.schedule.peak = o.lr.value_or(usual_rate(task_source(o.task), o.optimizer.name, options.schedule.kind));
  options.schedule.warmup = o.warmup;
  options.schedule.steps = steps;
  options.optimizer = o.optimizer;
  options.label_smoothing = o.label_smoothing;
  options.ema = o.ema;
  options.fake_quant = o.fake_quant;
  options.seed = o.seed;
  return options;
}

RunResult train(const Prepared& made, const TrainOptions& options, RunOptions run) {
  if (run.eval_every == 0) run.eval_every = std::clamp<std::int64_t>(options.schedule.steps / 10, 1, 500);
  return Trainer(*made.model, *made.data, options).run(run);
}

}  // namespace

RunResult fit(LabeledTexts training, LabeledTexts validation, const FitOptions& options, RunOptions run) {
  check_effects(options, training.content());
  if (task_source(options.task) != Source::rows || options.task == Task::forecast)
    throw Error(
        std::string(
            "[fit] expected a task that learns from rows: classifier, regression, multilabel, tagging or retrieval, "
            "got ") +
        task_name(options.task));
  const TrainOptions train_with =
      train_options(options, steps_of(options, std::ssize(training.texts), options.batch, {}));
  return train(of_rows(options, std::move(training), std::move(validation)), train_with, std::move(run));
}

RunResult fit(const std::string& text, const TextSplit& split, const FitOptions& options, RunOptions run) {
  check_effects(options, RowContent::texts);
  if (task_source(options.task) != Source::text)
    throw Error(std::string("[fit] expected a task that learns from a text, causal-lm or masked-lm, got ") +
                task_name(options.task));
  const auto tokenizer = tokenizer_of(options, [&](const auto& use) { use(text); });
  EncodedText encoded(text, *tokenizer);
  ModelSpec spec = spec_of(options);
  spec.vocabulary = tokenizer->size();
  Prepared made;
  made.model = new_model(options, spec);
  const std::int64_t length = length_of(options, *made.model, FitOptions::usual_length),
                     trained = encoded.size() * split.training / 100;
  made.data = std::make_unique<TextData>(std::move(encoded), tokenizer, options.task, length, options.batch, split);
  return train(made, train_options(options, steps_of(options, trained, options.batch * length, UsualSteps::of_text())),
               std::move(run));
}

RunResult fit(const Series& series, const ForecastOptions& forecast, const TextSplit& split, const FitOptions& options,
              RunOptions run) {
  check_effects(options, RowContent::frames);
  if (options.task != Task::forecast)
    throw Error(std::string("[fit] expected the task forecast for a series, got ") + task_name(options.task));
  ForecastOptions windows = forecast;
  windows.length = options.length > 0 ? options.length : FitOptions::usual_length;
  windows.batch = options.batch;
  const std::int64_t trained = series.rows() * split.training / 100;
  auto data = forecast_data(series, windows, split, forecast_row_options(series, windows, trained));
  Prepared made;
  made.model = new_model(options, data->spec(options.arch, options.config));
  made.data = std::move(data);
  return train(made, train_options(options, steps_of(options, trained, options.batch, {})), std::move(run));
}

}  // namespace weft
