#include "steps/step.h"

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <utility>

#include "machine/machine.h"
#include "machine/timing.h"
#include "weft/context.h"
#include "weft/detail/op_timer.h"
#include "weft/ops.h"
#include "weft/os.h"
#include "weft/safetensors.h"

namespace weft::bench {
using namespace detail;

namespace {

using Clock = std::chrono::steady_clock;
using nlohmann::json;

constexpr std::int64_t untimed = 2;
constexpr double learning_rate = 1e-4;
constexpr std::int64_t copied = std::int64_t{64} << 20;  // bytes that a copy moves to measure the bandwidth

// AdamW over all parameters without clipping. The step still computes the norm of the gradients.
OptimizerOptions adamw() {
  OptimizerOptions options;
  options.clip = 0;
  return options;
}

MemoryCache& memory() { return Context::current().memory(); }

// Adds noise to all vectors. If norm weights were one and biases zero, the mean square of a normalized result would be
// constant, which would hide mistakes.
void disturb_vectors(const NamedParameters& parameters) {
  std::uint64_t stream = 0;
  for (const auto& [name, parameter] : parameters) {
    const Tensor& value = parameter.value();
    if (value.rank() == 1) Parameter(parameter).assign(add(value, Random(4, stream++).normal(value.shape(), 0, 0.1)));
  }
}

double copy_gbs(int threads) {
  const Work copy = copy_work(copied, threads);
  return copy.bytes / seconds_per_call(copy.run, 0.1) * 1e-9;
}

constexpr const char* mode_names[] = {"forward", "backward", "train"};

}  // namespace

Mode mode_from_name(const std::string& name) {
  for (const Mode mode : {Mode::forward, Mode::backward, Mode::train})
    if (name == mode_names[static_cast<int>(mode)]) return mode;
  throw Error("expected forward, backward or train, got " + name);
}

Step::Step(const StepSizes& sizes, Mode mode, int threads)
    : sizes_(sizes), mode_(mode), threads_(threads), model_(make_step_model(sizes)) {
  Context::current().set_threads(threads);
  memory().trim();
  memory().reset_peak();
  resident_before_ = os::peak_resident_memory();
  used_before_ = memory().use().current;
}

void Step::step() {
  Context::current().parallel_region([&] { step_in_region(); });
}

void Step::step_in_region() {
  if (mode_ == Mode::forward) {
    const Tensor y = model_.forward();
    if (steps_++ == 0) loss_ = mean(square(y)).item();
    return;
  }
  if (mode_ == Mode::train && !optimizer_) optimizer_ = std::make_unique<Optimizer>(model_.parameters, adamw());
  if (mode_ == Mode::backward && !gradients_) gradients_ = std::make_unique<ParameterSet>(model_.parameters);
  ParameterSet& set = optimizer_ ? optimizer_->parameters() : *gradients_;
  Tensor loss;
  {
    Tape tape;
    loss = step_loss(model_);
    {
      const OpTimer timer("zero_gradients", &OpTime::backward);
      set.zero_gradients();
    }
    tape.backward(loss, set);
  }
  ++steps_;
  const OpTimer timer("adamw", &OpTime::backward);
  const double norm = optimizer_ ? optimizer_->step(steps_, learning_rate) : 0;
  if (steps_ > 1) return;
  loss_ = loss.item();
  gradient_norm_ = norm;
}

// As in weft train, the memory of a step is kept for the next step.
void Step::warm() {
  while (steps_ < untimed) {
    step();
    MemoryCache::set_budget(std::max(MemoryCache::budget(), memory().use().peak));
  }
}

double Step::run() {
  warm();
  const Work peak = sizes_.int8                           ? int8_peak_work(threads_)
                    : sizes_.precision == Precision::bf16 ? bf16_peak_work(threads_)
                                                          : fma_work(threads_);
  peak_gflops_.push_back(peak.flops / seconds_per_call(peak.run, 0.03) * 1e-9);
  if (!profile_) profile_ = std::make_unique<Profile>();
  const auto start = Clock::now();
  step();
  seconds_.push_back(std::chrono::duration<double>(Clock::now() - start).count());
  return seconds_.back();
}

double Step::rate(double seconds) {
  warm();
  const auto start = Clock::now();
  std::int64_t steps = 0;
  double passed = 0;
  do {
    step();
    ++steps;
    passed = std::chrono::duration<double>(Clock::now() - start).count();
  } while (passed < seconds);
  return static_cast<double>(steps) / passed;
}

// For each operation, the milliseconds per step and the share of the step's time, the largest first. "other" is the
// rest.
json Step::operations() const {
  const auto runs = static_cast<double>(seconds_.size());
  double all = 0, rest = 0;
  for (double s : seconds_) all += s;
  rest = all;
  json operations = json::array();
  for (const auto& [name, time] : profile_->ops()) {
    const double own = time.forward + time.recomputed + time.backward;
    rest -= own;
    operations.push_back({{"op", name},
                          {"calls", static_cast<double>(time.calls) / runs},
                          {"forward_ms", time.forward / runs * 1e3},
                          {"recomputed_ms", time.recomputed / runs * 1e3},
                          {"backward_ms", time.backward / runs * 1e3},
                          {"share", own / all}});
  }
  std::sort(operations.begin(), operations.end(), [](const json& a, const json& b) { return a["share"] > b["share"]; });
  operations.push_back({{"op", "other"}, {"share", rest / all}});
  return operations;
}

// The bytes that each step must at least read and write. A forward pass alone reads the parameters. With backward, the
// step writes and reads the saved tensors and writes the gradients. In training, AdamW also reads the gradient, the
// parameter and two moments, and writes the parameter and the moments. The products' reads of the parameters are not
// counted then.
double Step::least_bytes() const {
  const auto parameters = static_cast<double>(parameter_count(model_.parameters));
  if (mode_ == Mode::forward) return parameters * (sizes_.int8 ? 1 : sizes_.precision == Precision::bf16 ? 2 : 4);
  return 2 * static_cast<double>(activation_bytes()) + (mode_ == Mode::train ? 32 : 4) * parameters;
}

// The peak memory without the parameters, their gradients and AdamW's two moments.
std::int64_t Step::activation_bytes() const {
  constexpr std::int64_t of_parameter[] = {0, 4, 12};
  const std::int64_t state = of_parameter[static_cast<int>(mode_)] * parameter_count(model_.parameters);
  return static_cast<std::int64_t>(memory().use().peak - used_before_) - state;
}

json Step::report() const {
  if (seconds_.empty()) throw Error("[bench] nothing has run yet");
  const std::uint64_t resident = os::peak_resident_memory();  // before the copy allocates memory
  const double median = median_of(seconds_), peak = median_of(peak_gflops_), copy = copy_gbs(threads_);
  const double passes = mode_ == Mode::forward ? 1 : 3, gemm = passes * model_.gemm_flops,
               all = gemm + passes * model_.other_flops;
  const auto rate = [&](double flops) { return flops / median * 1e-9; };
  const MemoryUse use = memory().use();
  return {{"model", sizes_.model},
          {"mode", mode_names[static_cast<int>(mode_)]},
          {"recompute", sizes_.recompute},
          {"precision", sizes_.int8 ? "int8" : precision_name(sizes_.precision)},
          {"threads", threads_},
          {"batch", sizes_.batch},
          {"seq_len", sizes_.seq_len},
          {"d_model", sizes_.d_model},
          {"layers", sizes_.layers},
          {"vocabulary", sizes_.vocabulary},
          {"cpu", cpu_name()},
          {"isa", isa_name(Context::current().isa())},
          {"repeat", seconds_.size()},
          {"ms", {{"min", *std::min_element(seconds_.begin(), seconds_.end()) * 1e3}, {"median", median * 1e3}}},
          {"tokens_per_second", static_cast<double>(sizes_.batch * sizes_.seq_len) / median},
          {"peak_bytes", resident - resident_before_},
          {"peak_bytes_counted", use.peak - used_before_},
          {"peak_bytes_with_model", use.peak},
          {"activation_bytes", activation_bytes()},
          {"parameters", parameter_count(model_.parameters)},
          {"gflop", all * 1e-9},
          {"gflops", rate(all)},
          {"gemm_gflop", gemm * 1e-9},
          {"gemm_gflops", rate(gemm)},
          {"peak_gflops", peak},
          {"fraction_of_peak", rate(all) / peak},
          {"gemm_fraction_of_peak", rate(gemm) / peak},
          {"copy_gbs", copy},
          {"lower_bound_ms", {{"products", gemm / peak * 1e-6}, {"bytes", least_bytes() / copy * 1e-6}}},
          {"loss", loss_},
          {"gradient_norm", gradient_norm_},
          {"operations", operations()}};
}

Samples Step::ran() {
  warm();
  return sample([&] { step(); }, 0.2);
}

void Step::save(const std::string& path) {
  disturb_vectors(model_.parameters);
  std::vector<std::pair<std::string, Tensor>> tensors = {{"x", model_.x}};
  if (model_.target.defined()) tensors.emplace_back("target", model_.target);
  for (const auto& [name, parameter] : model_.parameters) tensors.emplace_back("parameters." + name, parameter.value());
  tensors.emplace_back("y", raw::contiguous(model_.forward()));
  if (mode_ != Mode::forward) {
    ParameterSet set(model_.parameters);
    Tape tape;
    tape.backward(step_loss(model_), set);
    for (const ParameterSet::Entry& entry : set.entries())
      tensors.emplace_back("gradients." + entry.name, set.gradient(entry));
  }
  save_safetensors(path, tensors);
}

}  // namespace weft::bench
