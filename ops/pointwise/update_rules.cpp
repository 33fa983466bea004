// Update rules by name, and the norm of a flat tensor.
#include "weft/update_rules.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/common.h"
#include "base/kernels/reduce.h"
#include "pointwise/kernels/optimizer.h"
#include "weft/context.h"
#include "weft/detail/out_of_memory.h"

namespace weft {
using namespace detail;

namespace {

// The number of elements of l2_norm whose squares one task adds. It determines the order of the additions, and
// therefore the result. Larger: threads are idle. Smaller: more overhead per task.
// bench: weft-bench --benchmark_filter=adamw-clip
constexpr std::int64_t norm_block = 1 << 14;

// Throws an Error unless all tensors are contiguous and have p's shape and real dtype, and step >= 1.
void check_update(const char* op, std::int64_t step, const Tensor& p, const Tensor& grad,
                  const std::vector<Tensor>& states) {
  check_real(op, p);
  if (!p.is_contiguous()) fail(op, "expected contiguous parameters, got strides " + to_string(p.strides()));
  const auto check = [&](const Tensor& other) {
    if (!other.defined() || other.dtype() != p.dtype() || other.shape() != p.shape())
      fail(op, "expected gradients and states like the parameters, " + describe(p) + ", got " + describe(other));
    if (!other.is_contiguous()) fail(op, "expected contiguous tensors, got strides " + to_string(other.strides()));
  };
  check(grad);
  for (const Tensor& state : states) check(state);
  if (step < 1) fail(op, "expected a step of at least 1, got " + std::to_string(step));
}

// Returns the number of decayed elements of p. Throws an Error if it exceeds p's number of elements.
std::int64_t checked_decayed(const char* op, const Tensor& p, std::optional<std::int64_t> decayed) {
  if (decayed && (*decayed < 0 || *decayed > p.numel()))
    fail(op,
         "expected 0 to " + std::to_string(p.numel()) + " elements with weight decay, got " + std::to_string(*decayed));
  return decayed.value_or(p.numel());
}

// Runs a rule with checked options on elements of type T. Calls the kernel for pieces of [0, n), with other constants
// for elements without weight decay. All operations that may fail come before the first call.
template <class Rule, class T>
void run(std::size_t place, Tensor& p, const Tensor& grad, std::vector<Tensor>& states, const RuleStep& step,
         std::int64_t decayed) {
  RuleStep without = step;
  without.weight_decay = 0;
  const auto constants = Rule::template constants<T>(step), undecayed = Rule::template constants<T>(without);
  const auto kernel = kernels<OptimizerKernels<T>>().update[place];
  const T* g = grad.data<T>();
  T* value = p.mutable_data<T>();
  T* kept[Rule::states];
  for (std::size_t k = 0; k < Rule::states; ++k) kept[k] = states[k].mutable_data<T>();
  const auto piece = [&](const auto& of, std::int64_t begin, std::int64_t end) {
    T* at[Rule::states];
    for (std::size_t k = 0; k < Rule::states; ++k) at[k] = kept[k] + begin;
    if (begin < end) kernel(&of, value + begin, g + begin, at, end - begin);
  };
  Context::current().parallel_for(p.numel(), task_elements, [&](std::int64_t begin, std::int64_t end) {
    const std::int64_t middle = std::clamp(decayed, begin, end);
    piece(constants, begin, middle);
    piece(undecayed, middle, end);
  });
}

using Run = void (*)(std::size_t, Tensor&, const Tensor&, std::vector<Tensor>&, const RuleStep&, std::int64_t);

// A rule, and its functions for f32 and f64.
struct Entry {
  UpdateRule rule;
  Run f32, f64;
};

template <class... Rule>
std::vector<Entry> entries_of(RuleList<Rule...>) {
  return {
      {{Rule::name, Rule::states, {std::begin(Rule::options), std::end(Rule::options)}, Rule::weight_decay, Rule::rate},
       run<Rule, float>,
       run<Rule, double>}...};
}

const std::vector<Entry>& entries() {
  static const std::vector<Entry> all = entries_of(Rules());
  return all;
}

std::size_t place_of(const std::string& name) {
  for (std::size_t i = 0; i < entries().size(); ++i)
    if (name == entries()[i].rule.name) return i;
  std::string known;
  for (const Entry& entry : entries()) known += std::string(known.empty() ? "" : ", ") + entry.rule.name;
  fail("update", "unknown rule \"" + name + "\", expected one of " + known);
}

void check_options(const UpdateRule& rule, const UpdateStep& step) {
  if (step.own.size() != rule.options.size())
    fail(rule.name,
         "expected " + std::to_string(rule.options.size()) + " options, got " + std::to_string(step.own.size()));
  for (std::size_t i = 0; i < step.own.size(); ++i) {
    const RuleOption& option = rule.options[i];
    if (!(step.own[i] >= option.lowest && step.own[i] < option.end))
      fail(rule.name, std::string("expected ") + option.name + " of at least " + std::to_string(option.lowest) +
                          " and less than " + std::to_string(option.end) + ", got " + std::to_string(step.own[i]));
  }
  if (!std::isfinite(step.lr)) fail(rule.name, "expected a finite lr, got " + std::to_string(step.lr));
}

UpdateStep step_of(const AdamOptions& o, std::int64_t step, double grad_scale) {
  return {step, o.lr, {o.beta1, o.beta2, o.eps}, o.weight_decay, o.decayed, grad_scale};
}

}  // namespace

const std::vector<UpdateRule>& update_rules() {
  static const std::vector<UpdateRule> rules = [] {
    std::vector<UpdateRule> all;
    for (const Entry& entry : entries()) all.push_back(entry.rule);
    return all;
  }();
  return rules;
}

void update(const std::string& name, Tensor& p, const Tensor& grad, std::vector<Tensor>& states,
            const UpdateStep& step) {
  guard_memory(name.c_str(), [&] {
    const std::size_t place = place_of(name);
    const auto& [rule, f32, f64] = entries()[place];
    if (states.size() != rule.states)
      fail(rule.name, "expected " + std::to_string(rule.states) + " states, got " + std::to_string(states.size()));
    check_update(rule.name, step.step, p, grad, states);
    check_options(rule, step);
    const std::int64_t decayed = checked_decayed(rule.name, p, step.decayed);
    const Run run = p.dtype() == DType::f32 ? f32 : f64;
    run(place, p, grad, states, {step.step, step.lr, step.weight_decay, step.grad_scale, step.own.data()}, decayed);
  });
}

void adam(Tensor& p, const Tensor& grad, Tensor& m, Tensor& v, std::int64_t step, const AdamOptions& options,
          double grad_scale) {
  guard_memory("adam", [&] {
    std::vector<Tensor> states{m, v};
    update("adam", p, grad, states, step_of(options, step, grad_scale));
  });
}

void adamw(Tensor& p, const Tensor& grad, Tensor& m, Tensor& v, std::int64_t step, const AdamOptions& options,
           double grad_scale) {
  guard_memory("adamw", [&] {
    std::vector<Tensor> states{m, v};
    update("adamw", p, grad, states, step_of(options, step, grad_scale));
  });
}

void sgd(Tensor& p, const Tensor& grad, Tensor& buf, std::int64_t step, const SgdOptions& o, double grad_scale) {
  guard_memory("sgd", [&] {
    std::vector<Tensor> states{buf};
    update("sgd", p, grad, states, {step, o.lr, {o.momentum}, o.weight_decay, o.decayed, grad_scale});
  });
}

double l2_norm(const Tensor& x) {
  return guard_memory("l2_norm", [&] {
    check_floating("l2_norm", x);
    const Tensor dense = raw::contiguous(x);
    std::vector<double> squares(static_cast<std::size_t>((x.numel() + norm_block - 1) / norm_block));
    with_floating("l2_norm", x.dtype(), [&](auto* type) {
      using T = element_of<decltype(type)>;
      const auto kernel = kernels<ReduceKernels<T>>().sum_squares;
      Context::current().parallel_for(x.numel(), norm_block, [&](std::int64_t begin, std::int64_t end) {
        squares[static_cast<std::size_t>(begin / norm_block)] = kernel(dense.data<T>() + begin, end - begin);
      });
    });
    double sum = 0;
    for (double s : squares) sum += s;
    return std::sqrt(sum);
  });
}

}  // namespace weft
