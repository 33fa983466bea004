// Training. It runs without the interpreter's lock and takes it between steps, for callbacks and Ctrl-C.
#include <nanobind/nanobind.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <weft/fit.h>
#include <weft/run_folder.h>
#include <weft/split.h>

#include <chrono>
#include <optional>
#include <string>
#include <utility>

#include "bindings.h"
#include "rows.h"

namespace weft::python {
namespace {

namespace nb = nanobind;

using namespace nb::literals;
using std::int64_t;

// The settings of a run, by the names of weft.train's arguments.
struct Settings : FitOptions {
  std::string folder, best_by = "loss";
  double validation = 0.1;  // share of the rows, if no validation set is given
  int64_t eval_every = 0, patience = 0;
  std::uint64_t split_seed = 0;
  bool overwrite = false;
};

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
    LabelledTexts held = validation != nullptr ? validation->all : hold_out(training, s.validation, s.split_seed);
    RunOptions run;
    run.folder = s.folder;
    run.eval_every = s.eval_every;
    run.patience = s.patience;
    run.best_by = s.best_by;
    run.progress = [&](const Progress& p) { return callbacks.progress(p); };
    run.evaluated = [&](int64_t step, const Evaluation& evaluation) { callbacks.evaluated(step, evaluation); };
    run.stop = [&] { return callbacks.stopped(); };
    (void)fit(std::move(training), std::move(held), s, run);
  }
  callbacks.raise();
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
      .def_rw("eval_every", &Settings::eval_every)
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
