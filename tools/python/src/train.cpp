// Training. It runs without the interpreter's lock and takes it between steps, for callbacks and Ctrl-C.
#include <nanobind/nanobind.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <weft/classifier_data.h>
#include <weft/frame_rows.h>
#include <weft/pair_data.h>
#include <weft/pictures.h>
#include <weft/split.h>
#include <weft/trainer.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>
#include <optional>
#include <string>

#include "bindings.h"
#include "rows.h"

namespace weft::python {
namespace {

namespace nb = nanobind;

using namespace nb::literals;
using std::int64_t;

// The settings of a run, by the names of weft.train's arguments.
struct Settings {
  std::string arch = "tnn", task = "classifier", config = "{}", tokenizer, folder;
  int64_t length = 0;  // of sequences; 0: the architecture's default, or the longest row of frames
  int64_t vocabulary_size = 20000, min_count = 2;
  double validation = 0.1;  // share of the rows, if no validation set is given
  std::optional<int64_t> steps;
  std::optional<double> epochs;
  int64_t patch = 0;  // side of the patches of pictures; 0: the smallest that makes at most 64 patches
  Augmentation augmentation;
  int64_t batch = 32, warmup = 100, dimensions = 128, patience = 0;
  std::optional<int64_t> eval_every;
  double lr = 1e-3, label_smoothing = 0, ema = 0;
  std::string schedule = "cosine", precision = "f32", best_by = "loss", balance = "none";
  OptimizerOptions optimizer;
  std::uint64_t seed = 1, split_seed = 0;
  bool overwrite = false;
};

// The same rule as that of `weft train` (tools/train/train_steps.cpp).
int64_t steps_of(const Settings& s, int64_t rows) {
  if (s.steps) return *s.steps;
  const auto epoch = static_cast<double>((rows + s.batch - 1) / s.batch);
  if (s.epochs) return std::max<int64_t>(1, std::llround(*s.epochs * epoch));
  const double lowest = std::min(1000.0, 100 * epoch), highest = std::max(20000.0, epoch);
  return std::llround(std::max(std::min(5 * epoch, highest), lowest));
}

struct Prepared {
  std::unique_ptr<Model> model;
  std::unique_ptr<Data> data;
};

std::unique_ptr<Model> new_model(const Settings& s, const ModelSpec& spec) {
  auto model = make_model(spec, {Random(s.seed).split(0), DType::f32});
  model->set_precision(precision_from_name(s.precision));
  return model;
}

Prepared of_numbers(const Settings& s, ModelSpec spec, LabelledTexts training, LabelledTexts validation) {
  const TargetKind kind =
      spec.task == Task::classifier ? TargetKind{spec.task, training.names} : find_targets(spec.task, training);
  spec.classes = static_cast<int64_t>(kind.outputs.size());
  spec.output = kind.output;
  spec.input = frame_input(training, s.patch > 0 ? s.patch : usual_patch(training.picture));
  Prepared made;
  made.model = new_model(s, spec);
  const int64_t most = made.model->max_length();
  const int64_t length = s.length > 0 ? s.length : most > 0 ? most : longest_row(training, spec.input);
  LearningOptions learning;
  learning.balance = balance_from_name(s.balance);
  made.data = frame_data(std::move(training), std::move(validation), kind, spec.input, length, s.batch, s.augmentation,
                         learning);
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

std::shared_ptr<const Tokenizer> tokenizer_of(const Settings& s, Task task, const LabelledTexts& training) {
  const Texts texts = [&](const auto& use) {
    use_each(training.texts, use);
    if (task == Task::retrieval) use_each(training.names, use);
  };
  TokenizerOptions options;
  options.task = task;
  options.size = s.vocabulary_size;
  options.min_count = s.min_count;
  const std::string usual = task == Task::tagging ? "whitespace" : "words";
  return learn_tokenizer(s.tokenizer.empty() ? usual : s.tokenizer, texts, options);
}

Prepared of_texts(const Settings& s, ModelSpec spec, const LabelledTexts& training, const LabelledTexts& validation) {
  const auto tokenizer = tokenizer_of(s, spec.task, training);
  spec.vocabulary = tokenizer->size();
  TargetKind kind{spec.task, training.names};
  if (spec.task == Task::retrieval) spec.classes = s.dimensions;
  else if (spec.task != Task::classifier) kind = find_targets(spec.task, training);
  if (spec.task != Task::retrieval) spec.classes = static_cast<int64_t>(kind.outputs.size());
  spec.output = kind.output;
  Prepared made;
  made.model = new_model(s, spec);
  const int64_t usual = 64, most = made.model->max_length();
  const int64_t length = s.length > 0 ? s.length : most > 0 ? most : usual;
  LearningOptions learning;
  learning.balance = balance_from_name(s.balance);
  if (spec.task == Task::classifier)
    made.data =
        std::make_unique<ClassifierData>(training, validation, tokenizer, length, s.batch, Padding::full, 0, learning);
  else if (spec.task == Task::retrieval)
    made.data = std::make_unique<PairData>(training, validation, tokenizer, length, s.batch);
  else made.data = target_data(training, validation, kind, tokenizer, length, s.batch, learning);
  return made;
}

TrainOptions options_of(const Settings& s, int64_t rows) {
  TrainOptions options;
  options.schedule.kind = schedule_from_name(s.schedule);
  options.schedule.peak = s.lr;
  options.schedule.warmup = s.warmup;
  options.schedule.steps = steps_of(s, rows);
  options.optimizer = s.optimizer;
  options.label_smoothing = s.label_smoothing;
  options.ema = s.ema;
  options.seed = s.seed;
  return options;
}

// Calls Python between the steps of a run. The first exception of a callback, or Ctrl-C, stops the run.
class Callbacks {
 public:
  Callbacks(nb::object progress, nb::object evaluated, bool every_step)
      : progress_(std::move(progress)), evaluated_(std::move(evaluated)), every_step_(every_step) {}

  bool progress(const Progress& p) {
    const auto now = std::chrono::steady_clock::now();
    const bool is_due = now - last_ > std::chrono::milliseconds(100) || p.step == p.steps;
    if (!is_due && !every_step_) return true;
    last_ = now;
    return call([&] {
      if (PyErr_CheckSignals() != 0) throw nb::python_error();
      progress_(p.step, p.steps, p.loss, p.learning_rate, p.seconds_left);
    });
  }

  void evaluated(int64_t step, const Evaluation& evaluation) {
    (void)call([&] {
      nb::dict metrics;
      metrics["step"] = step;
      metrics["loss"] = evaluation.loss;
      for (const Metric& metric : evaluation.metrics) metrics[metric.name.c_str()] = metric.value;
      evaluated_(metrics);
    });
  }

  bool stopped() const { return failed_.has_value(); }

  // With the interpreter's lock.
  void raise() {
    if (failed_) throw nb::python_error(std::move(*failed_));
  }

 private:
  template <class F>
  bool call(F f) {
    if (failed_) return false;
    const nb::gil_scoped_acquire lock;
    try {
      f();
    } catch (nb::python_error& error) {
      failed_.emplace(std::move(error));
    }
    return !failed_;
  }

  nb::object progress_, evaluated_;
  bool every_step_;
  std::chrono::steady_clock::time_point last_ = {};
  std::optional<nb::python_error> failed_;
};

// Trains a new model and saves it in the folder of the settings.
void train(const Rows& rows, const Rows* validation, const Settings& s, nb::object progress, nb::object evaluated,
           bool every_step) {
  Callbacks callbacks(std::move(progress), std::move(evaluated), every_step);
  {
    const nb::gil_scoped_release release;
    if (const std::string saved = s.overwrite ? "" : saved_run(s.folder); !saved.empty())
      throw Error("[train] \"" + saved + "\" already exists: overwrite=True replaces it");
    LabelledTexts training = rows.all;
    const LabelledTexts held = validation != nullptr ? validation->all : hold_out(training, s.validation, s.split_seed);
    ModelSpec spec;
    spec.arch = s.arch;
    spec.task = task_from_name(s.task);
    spec.config = s.config;
    if (task_source(spec.task) != Source::rows || spec.task == Task::forecast)
      throw Error(std::string("[train] expected a task on rows: classifier, regression, multilabel, tagging or "
                              "retrieval, got ") +
                  s.task);
    const TrainOptions options = options_of(s, static_cast<int64_t>(training.texts.size()));
    const Prepared made = training.content() != RowContent::texts ? of_numbers(s, spec, std::move(training), held)
                                                                  : of_texts(s, spec, training, held);
    Trainer trainer(*made.model, *made.data, options);
    RunOptions run;
    run.folder = s.folder;
    run.eval_every = s.eval_every.value_or(std::clamp<int64_t>(options.schedule.steps / 10, 1, 500));
    run.patience = s.patience;
    run.best_by = s.best_by;
    run.progress = [&](const Progress& p) { return callbacks.progress(p); };
    run.evaluated = [&](int64_t step, const Evaluation& evaluation) { callbacks.evaluated(step, evaluation); };
    run.stop = [&] { return callbacks.stopped(); };
    (void)trainer.run(run);
  }
  callbacks.raise();
}

}  // namespace

void add_training(nb::module_& module) {
  nb::class_<Settings>(module, "Settings")
      .def(nb::init<>())
      .def_rw("arch", &Settings::arch)
      .def_rw("task", &Settings::task)
      .def_rw("config", &Settings::config)
      .def_rw("tokenizer", &Settings::tokenizer)
      .def_rw("folder", &Settings::folder)
      .def_rw("length", &Settings::length)
      .def_rw("vocabulary_size", &Settings::vocabulary_size)
      .def_rw("min_count", &Settings::min_count)
      .def_rw("validation", &Settings::validation)
      .def_rw("steps", &Settings::steps, nb::arg().none())
      .def_rw("epochs", &Settings::epochs, nb::arg().none())
      .def_rw("patch", &Settings::patch)
      .def_prop_rw(
          "shift", [](const Settings& s) { return s.augmentation.shift; },
          [](Settings& s, int64_t shift) { s.augmentation.shift = shift; })
      .def_prop_rw(
          "flips", [](const Settings& s) { return s.augmentation.flips; },
          [](Settings& s, bool flips) { s.augmentation.flips = flips; })
      .def_rw("batch", &Settings::batch)
      .def_rw("warmup", &Settings::warmup)
      .def_rw("dimensions", &Settings::dimensions)
      .def_rw("patience", &Settings::patience)
      .def_rw("eval_every", &Settings::eval_every, nb::arg().none())
      .def_rw("lr", &Settings::lr)
      .def_rw("label_smoothing", &Settings::label_smoothing)
      .def_rw("ema", &Settings::ema)
      .def_rw("schedule", &Settings::schedule)
      .def_rw("precision", &Settings::precision)
      .def_rw("best_by", &Settings::best_by)
      .def_rw("balance", &Settings::balance)
      .def_rw("seed", &Settings::seed)
      .def_rw("split_seed", &Settings::split_seed)
      .def_rw("overwrite", &Settings::overwrite)
      .def(
          "set_optimizer",
          [](Settings& s, const std::string& name, const std::map<std::string, double>& own,
             std::optional<double> weight_decay, double clip) {
            s.optimizer.name = name;
            s.optimizer.own = own;
            s.optimizer.weight_decay = weight_decay;
            s.optimizer.clip = clip;
          },
          "name"_a, "own"_a, "weight_decay"_a.none(), "clip"_a);
  module.def("train", train, "rows"_a, "validation"_a.none(), "settings"_a, "progress"_a, "evaluated"_a,
             "every_step"_a);
}

}  // namespace weft::python
