#include "weft/fit.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "weft/architecture.h"
#include "weft/classifier_data.h"
#include "weft/frame_rows.h"
#include "weft/pair_data.h"
#include "weft/target_rows.h"

namespace weft {

namespace {

// The same rule as that of `weft train` (tools/train/train_steps.cpp).
std::int64_t steps_of(const FitOptions& o, std::int64_t rows) {
  if (o.steps) return *o.steps;
  if (o.batch < 1) throw Error("[fit] expected a batch of at least 1 row, got " + std::to_string(o.batch));
  const auto epoch = static_cast<double>((rows + o.batch - 1) / o.batch);
  if (o.epochs && !(*o.epochs > 0)) throw Error("[fit] expected epochs above 0, got " + std::to_string(*o.epochs));
  if (o.epochs) return std::max<std::int64_t>(1, std::llround(std::clamp(*o.epochs * epoch, 1.0, 1e15)));
  const double lowest = std::min(1000.0, 100 * epoch), highest = std::max(20000.0, epoch);
  return std::llround(std::max(std::min(5 * epoch, highest), lowest));
}

struct Prepared {
  std::unique_ptr<Model> model;
  std::unique_ptr<Data> data;
};

std::unique_ptr<Model> new_model(const FitOptions& o, const ModelSpec& spec) {
  auto model = make_model(spec, {Random(o.seed).split(0), DType::f32});
  model->set_precision(precision_from_name(o.precision));
  return model;
}

LearningOptions learning_of(const FitOptions& o) {
  LearningOptions learning;
  learning.balance = balance_from_name(o.balance);
  return learning;
}

// The given length, the model's longest, or the usual one.
std::int64_t length_of(const FitOptions& o, const Model& model, std::int64_t usual) {
  if (o.length > 0) return o.length;
  return model.max_length() > 0 ? model.max_length() : usual;
}

Prepared of_numbers(const FitOptions& o, ModelSpec spec, LabelledTexts training, LabelledTexts validation) {
  const TargetKind kind =
      o.task == Task::classifier ? TargetKind{o.task, training.names} : find_targets(o.task, training);
  spec.classes = std::ssize(kind.outputs);
  spec.output = kind.output;
  spec.input = frame_input(training, o.patch > 0 ? o.patch : usual_patch(training.picture));
  Prepared made;
  made.model = new_model(o, spec);
  const std::int64_t length = length_of(o, *made.model, longest_row(training, spec.input));
  made.data = frame_data(std::move(training), std::move(validation), kind, spec.input, length, o.batch, o.augmentation,
                         learning_of(o));
  return made;
}

// Calls use(text) for each text, and for both texts of a pair.
void use_each(const std::vector<std::string>& texts, const std::function<void(std::string_view)>& use) {
  for (const std::string_view text : texts) {
    const std::size_t end = text.find(pair_separator);
    use(text.substr(0, end));
    if (end != std::string_view::npos) use(text.substr(end + 1));
  }
}

std::shared_ptr<const Tokenizer> tokenizer_of(const FitOptions& o, const LabelledTexts& training) {
  const Texts texts = [&](const auto& use) {
    use_each(training.texts, use);
    if (o.task == Task::retrieval) use_each(training.names, use);
  };
  TokenizerOptions options;
  options.task = o.task;
  options.size = o.vocabulary_size;
  options.min_count = o.min_count;
  const std::string usual = o.task == Task::tagging ? "whitespace" : "words";
  return learn_tokenizer(o.tokenizer.empty() ? usual : o.tokenizer, texts, options);
}

Prepared of_texts(const FitOptions& o, ModelSpec spec, const LabelledTexts& training, const LabelledTexts& validation) {
  const auto tokenizer = tokenizer_of(o, training);
  const bool has_targets = o.task != Task::classifier && o.task != Task::retrieval;
  const TargetKind kind = has_targets ? find_targets(o.task, training) : TargetKind{o.task, training.names};
  spec.vocabulary = tokenizer->size();
  spec.classes = o.task == Task::retrieval ? o.dimensions : std::ssize(kind.outputs);
  spec.output = kind.output;
  Prepared made;
  made.model = new_model(o, spec);
  const std::int64_t length = length_of(o, *made.model, 64);
  if (o.task == Task::classifier)
    made.data = std::make_unique<ClassifierData>(training, validation, tokenizer, length, o.batch, Padding::full, 0,
                                                 learning_of(o));
  else if (o.task == Task::retrieval)
    made.data = std::make_unique<PairData>(training, validation, tokenizer, length, o.batch);
  else made.data = target_data(training, validation, kind, tokenizer, length, o.batch, learning_of(o));
  return made;
}

TrainOptions train_options(const FitOptions& o, std::int64_t rows) {
  TrainOptions options;
  options.schedule.kind = schedule_from_name(o.schedule);
  options.schedule.peak = o.lr;
  options.schedule.warmup = o.warmup;
  options.schedule.steps = steps_of(o, rows);
  options.optimizer = o.optimizer;
  options.label_smoothing = o.label_smoothing;
  options.ema = o.ema;
  options.seed = o.seed;
  return options;
}

}  // namespace

RunResult fit(LabelledTexts training, LabelledTexts validation, const FitOptions& options, RunOptions run) {
  if (task_source(options.task) != Source::rows || options.task == Task::forecast)
    throw Error(std::string("[fit] expected a task on rows: classifier, regression, multilabel, tagging or retrieval, "
                            "got ") +
                task_name(options.task));
  ModelSpec spec;
  spec.arch = options.arch;
  spec.task = options.task;
  spec.config = options.config;
  const TrainOptions train = train_options(options, std::ssize(training.texts));
  const Prepared made = training.content() != RowContent::texts
                            ? of_numbers(options, spec, std::move(training), std::move(validation))
                            : of_texts(options, spec, training, validation);
  if (run.eval_every == 0) run.eval_every = std::clamp<std::int64_t>(train.schedule.steps / 10, 1, 500);
  return Trainer(*made.model, *made.data, train).run(run);
}

}  // namespace weft
