// Training. It runs without the interpreter's lock, and acquires the lock between steps for callbacks and Ctrl-C.
#include <nanobind/nanobind.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <weft/fit.h>
#include <weft/ops.h>
#include <weft/run_folder.h>
#include <weft/split.h>
#include <weft/task.h>

#include <chrono>
#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "arrays.h"
#include "bindings.h"
#include "rows.h"

namespace weft::python {
namespace {

namespace nb = nanobind;

using namespace nb::literals;
using std::int64_t;

// The settings of a run, with the names of weft.train's arguments.
struct Settings : FitOptions {
  std::string folder, best_by = "loss", license, about;
  double validation = 0.1;  // share of the rows, if no validation set is given
  int64_t eval_every = 0, patience = 0;
  std::uint64_t split_seed = 0;
  bool overwrite = false;
};

// Calls Python functions between the steps of a run. The first exception of a callback, or Ctrl-C, stops the run.
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

  // Raises the exception that stopped the run, if any. The caller holds the interpreter's lock.
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

// Trains a new model and saves it in the folder that the settings name. fitted(run) calls fit.
template <class Fit>
void train(const Settings& s, nb::object progress, nb::object evaluated, bool every_step, Fit fitted) {
  Callbacks callbacks(std::move(progress), std::move(evaluated), every_step);
  {
    const nb::gil_scoped_release release;
    if (const std::string saved = s.overwrite ? "" : saved_run(s.folder); !saved.empty())
      throw Error("[train] \"" + saved + "\" already exists: overwrite=True replaces it");
    RunOptions run;
    run.folder = s.folder;
    run.eval_every = s.eval_every;
    run.patience = s.patience;
    run.best_by = s.best_by;
    run.license = s.license;
    run.about = s.about;
    run.progress = [&](const Progress& p) { return callbacks.progress(p); };
    run.evaluated = [&](int64_t step, const Evaluation& evaluation) { callbacks.evaluated(step, evaluation); };
    run.stop = [&] { return callbacks.stopped(); };
    try {
      fitted(run);
    } catch (const Error&) {
      if (!callbacks.stopped()) throw;  // otherwise the callback's exception is more informative
    }
  }
  callbacks.raise();
}

void train_rows(const Rows& rows, const Rows* validation, const Settings& s, nb::object progress, nb::object evaluated,
                bool every_step) {
  train(s, std::move(progress), std::move(evaluated), every_step, [&](const RunOptions& run) {
    LabeledTexts training = rows.all;
    LabeledTexts held = validation != nullptr ? validation->all : hold_out(training, s.validation, s.split_seed);
    (void)fit(std::move(training), std::move(held), s, run);
  });
}

// The last part of a text or a series is the validation set. Its size is rounded to whole percent.
TextSplit split_of(const Settings& s) {
  const double percent = std::round(100 * s.validation);
  if (!(percent >= 1 && percent <= 99))
    throw Error("[train] validation: expected a share of 0.01 to 0.99, got " + std::to_string(s.validation));
  return {100 - static_cast<int>(percent), static_cast<int>(percent)};
}

void train_text(const std::string& text, const Settings& s, nb::object progress, nb::object evaluated,
                bool every_step) {
  train(s, std::move(progress), std::move(evaluated), every_step,
        [&](const RunOptions& run) { (void)fit(text, split_of(s), s, run); });
}

// Trains on numbers (n, columns). `names` are the names of the columns.
void train_series(nb::handle numbers, const std::vector<std::string>& names, const std::vector<std::string>& targets,
                  int64_t horizon, int64_t season, const Settings& s, nb::object progress, nb::object evaluated,
                  bool every_step) {
  const Tensor rows = transpose(tensor_of("series", numbers, {DType::f32}), 0, 1);
  Series series;
  series.names = names;
  for (int64_t i = 0; i < rows.size(0); ++i) series.columns.push_back(slice(rows, 0, i, i + 1).to_vector<float>());
  ForecastOptions forecast;
  forecast.frames = names;
  forecast.targets = targets;
  forecast.horizon = horizon;
  forecast.season = season;
  train(s, std::move(progress), std::move(evaluated), every_step,
        [&](const RunOptions& run) { (void)fit(series, forecast, split_of(s), s, run); });
}

}  // namespace

void add_training(nb::module_& module) {
  nb::class_<Settings>(module, "Settings")
      .def(nb::init<>())
      .def_rw("arch", &Settings::arch)
      .def_prop_rw(
          "task", [](const Settings& s) { return std::string(task_name(s.task)); },
          [](Settings& s, const std::string& name) { s.task = task_from_name(name); })
      .def_rw("config", &Settings::config)
      .def_rw("tokenizer", &Settings::tokenizer)
      .def_rw("folder", &Settings::folder)
      .def_rw("length", &Settings::length)
      .def_rw("vocabulary_size", &Settings::vocabulary_size)
      .def_rw("min_count", &Settings::min_count)
      .def_rw("validation", &Settings::validation)
      .def_rw("steps", &Settings::steps)
      .def_rw("epochs", &Settings::epochs)
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
      .def_rw("eval_every", &Settings::eval_every)
      .def_rw("lr", &Settings::lr)
      .def_rw("label_smoothing", &Settings::label_smoothing)
      .def_rw("ema", &Settings::ema)
      .def_prop_rw(
          "fake_quant", [](const Settings& s) { return s.fake_quant ? quantization_name(*s.fake_quant) : ""; },
          [](Settings& s, const std::string& name) { s.fake_quant = quantization_from_name(name); })
      .def_rw("schedule", &Settings::schedule)
      .def_rw("precision", &Settings::precision)
      .def_rw("best_by", &Settings::best_by)
      .def_rw("license", &Settings::license)
      .def_rw("about", &Settings::about)
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
  module.def("tasks", tasks);
  module.def("train_rows", train_rows, "rows"_a, "validation"_a.none(), "settings"_a, "progress"_a, "evaluated"_a,
             "every_step"_a);
  module.def("train_text", train_text, "text"_a, "settings"_a, "progress"_a, "evaluated"_a, "every_step"_a);
  module.def("train_series", train_series, "numbers"_a, "names"_a, "targets"_a, "horizon"_a, "season"_a, "settings"_a,
             "progress"_a, "evaluated"_a, "every_step"_a);
}

}  // namespace weft::python
