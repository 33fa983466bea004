// weft.Tape, gradients, optimizers, and files of tensors.
#include <nanobind/nanobind.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <weft/gradients.h>
#include <weft/optimizer.h>
#include <weft/parameter.h>
#include <weft/random.h>
#include <weft/safetensors.h>
#include <weft/schedule.h>
#include <weft/tape.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "bindings.h"
#include "tensors.h"

namespace weft::python {
namespace {

namespace nb = nanobind;

using namespace nb::literals;
using std::int64_t;

// The optimizer of a training loop. It counts its steps, and clears the gradients after each step.
struct OptimizerLoop {
  Optimizer optimizer;
  double lr;
  int64_t steps = 0;
  bool has_gradients = false;

  double step(std::optional<double> rate) {
    if (!has_gradients) throw Error("[optimizer] expected tape.backward(loss, optimizer) before each step");
    has_gradients = false;
    try {
      const double norm = optimizer.step(steps + 1, rate.value_or(lr));
      ++steps;
      optimizer.parameters().zero_gradients();
      return norm;
    } catch (const Error&) {
      optimizer.parameters().zero_gradients();  // so that a non-finite gradient does not remain
      throw;
    }
  }
};

// A tape as a Python context manager. A tape that was entered belongs to one thread and is part of that thread's stack
// of tapes. If another thread drops the last reference to it, the tape is therefore not destroyed.
class TapeScope {
 public:
  TapeScope() = default;
  TapeScope(const TapeScope&) = delete;
  TapeScope& operator=(const TapeScope&) = delete;
  ~TapeScope() {
    if (tape_ && !is_here()) (void)tape_.release();
  }

  void enter() {
    if (was_entered_)
      throw Error("[tape] expected a new tape for each with statement, got one that was entered before");
    was_entered_ = true;
    thread_ = std::this_thread::get_id();
    tape_ = std::make_unique<Tape>();
  }
  void exit() {
    check_here();
    tape_.reset();
  }
  Tape& tape() {
    check_here();
    if (!tape_) throw Error("[tape] expected a call inside the with statement of its tape");
    return *tape_;
  }

 private:
  bool is_here() const { return std::this_thread::get_id() == thread_; }
  void check_here() const {
    if (was_entered_ && !is_here())
      throw Error("[tape] expected a call on the thread that entered the tape, got a call on another thread");
  }

  std::unique_ptr<Tape> tape_;
  std::thread::id thread_;
  bool was_entered_ = false;
};

Gradients gradients(TapeScope& scope, const Tensor& result) {
  Tape& tape = scope.tape();
  return unlocked([&] {
    Gradients all;
    tape.backward(result, all);
    return all;
  });
}

void backward(TapeScope& scope, const Tensor& result, OptimizerLoop& loop) {
  Tape& tape = scope.tape();
  unlocked([&] { tape.backward(result, loop.optimizer.parameters()); });
  loop.has_gradients = true;
}

Tensor gradient_of(const Gradients& gradients, nb::handle x) {
  if (nb::isinstance<Parameter>(x)) return gradients.of(nb::cast<const Parameter&>(x));
  if (!nb::isinstance<Tensor>(x)) throw nb::type_error("expected a Tensor or a Parameter that is a leaf of the tape");
  return gradients.of(nb::cast<const Tensor&>(x));
}

}  // namespace

void add_gradients(nb::module_& module) {
  nb::class_<Gradients>(
      module, "Gradients",
      "The result of Tape.gradients. gradients[x] is the gradient with respect to x, a leaf of the tape.")
      .def("__getitem__", gradient_of, "x"_a);
  nb::class_<TapeScope>(module, "Tape", R"(Records the operations inside its with statement, to compute gradients:

>>> with weft.Tape() as tape:
...     loss = weft.ops.mse_loss(x @ w, y)       # w: a weft.Parameter, or a result of tape.watch
...     gradients = tape.gradients(loss)
>>> gradients[w]

Use each tape only once, and only on one thread.)")
      .def(nb::init<>())
      .def("__enter__",
           [](nb::object self) {
             nb::cast<TapeScope&>(self).enter();
             return self;
           })
      .def("__exit__", [](TapeScope& scope, nb::args) { scope.exit(); })
      .def(
          "watch", [](TapeScope& scope, nb::handle x) { return scope.tape().watch(operand(x)); }, "x"_a,
          "Returns x as a leaf of this tape. The tape then computes the gradient with respect to this leaf.")
      .def("gradients", gradients, "result"_a,
           "The gradients of a result with one element, with respect to every leaf. Call this once, instead of "
           "backward.")
      .def("backward", backward, "result"_a, "optimizer"_a,
           "Adds the gradients of a result with one element to those of the optimizer's parameters.");

  nb::class_<OptimizerLoop>(module, "Optimizer")
      .def(
          "__init__",
          [](OptimizerLoop* self, const NamedParameters& parameters, const std::string& name, double lr,
             const std::map<std::string, double>& own, std::optional<double> weight_decay, double clip) {
            OptimizerOptions options;
            options.name = name;
            options.own = own;
            options.weight_decay = weight_decay;
            options.clip = clip;
            new (self) OptimizerLoop{Optimizer(parameters, options), lr};
            self->optimizer.parameters().zero_gradients();
          },
          "parameters"_a, "name"_a, "lr"_a, "own"_a, "weight_decay"_a.none(), "clip"_a)
      .def_rw("lr", &OptimizerLoop::lr, "The learning rate of the next steps.")
      .def_ro("steps", &OptimizerLoop::steps, "The number of steps so far.")
      .def(
          "step", [](OptimizerLoop& loop, std::optional<double> lr) { return unlocked([&] { return loop.step(lr); }); },
          "lr"_a = nb::none(),
          "Updates the parameters with their gradients, and clears the gradients. If lr is None, weft "
          "uses the optimizer's learning rate. Returns the norm of the gradients before clipping.")
      .def(
          "zero_gradients",
          [](OptimizerLoop& loop) {
            loop.optimizer.parameters().zero_gradients();
            loop.has_gradients = false;
          },
          "Clears the gradients, as each step does.")
      .def("__repr__", [](const OptimizerLoop& loop) { return "<weft.optim " + loop.optimizer.description() + ">"; });
  module.def(
      "learning_rate",
      [](const std::string& name, double peak, int64_t warmup, int64_t steps, double floor, int64_t step) {
        Schedule schedule;
        schedule.kind = schedule_from_name(name);
        schedule.peak = peak;
        schedule.warmup = warmup;
        schedule.steps = steps;
        schedule.floor = floor;
        return schedule(step);
      },
      "name"_a, "peak"_a, "warmup"_a, "steps"_a, "floor"_a, "step"_a);

  nb::class_<Random>(module, "Random", "A stream of random numbers: the same seed gives the same numbers.")
      .def(nb::init<std::uint64_t>(), "seed"_a)
      .def("split", &Random::split, "k"_a, "The k-th child of this stream, which is independent of all others.")
      .def(
          "uniform",
          [](const Random& r, const Shape& shape, double low, double high) { return r.uniform(shape, low, high); },
          "shape"_a, "low"_a = 0.0, "high"_a = 1.0)
      .def(
          "normal",
          [](const Random& r, const Shape& shape, double mean, double deviation) {
            return r.normal(shape, mean, deviation);
          },
          "shape"_a, "mean"_a = 0.0, "deviation"_a = 1.0);

  module.def(
      "save_tensors",
      [](const std::string& path, const NamedParameters& parameters) {
        std::vector<std::pair<std::string, Tensor>> tensors;
        for (const auto& [name, parameter] : parameters) tensors.emplace_back(name, parameter.value());
        unlocked([&] { save_safetensors(path, tensors); });
      },
      "path"_a, "parameters"_a);
  module.def(
      "load_tensors",
      [](const std::string& path) {
        const SafetensorsFile file(path);
        std::map<std::string, Tensor> tensors;
        for (const std::string& name : file.names()) tensors.emplace(name, file.load(name, Load::copy));
        return tensors;
      },
      "path"_a);
}

}  // namespace weft::python
