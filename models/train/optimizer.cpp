#include "weft/optimizer.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/names.h"
#include "weft/detail/out_of_memory.h"

namespace weft {
using namespace detail;

namespace {

const UpdateRule& rule_named(const std::string& name) {
  std::vector<std::string> known;
  for (const UpdateRule& rule : update_rules()) {
    if (name == rule.name) return rule;
    known.emplace_back(rule.name);
  }
  throw Error("[optimizer] unknown optimizer \"" + name + "\", expected one of " + join(known));
}

// The index of the option in the rule's list.
std::size_t place_of(const UpdateRule& rule, const std::string& name) {
  std::vector<std::string> known;
  for (const RuleOption& option : rule.options) {
    if (name == option.name) return known.size();
    known.emplace_back(option.name);
  }
  throw Error(std::string("[optimizer] ") + rule.name + " has no " + name + "; its options are " + join(known));
}

void check_range(const std::string& name, double value, double lowest, double end) {
  if (value >= lowest && value < end) return;
  const auto text = [](double number) { return nlohmann::json(number).dump(); };
  throw Error("[optimizer] expected " + name + " of " + text(lowest) + " or more" +
              (std::isfinite(end) ? " and less than " + text(end) : "") + ", got " + std::to_string(value));
}

// The options that are the same in every step.
UpdateStep checked(const UpdateRule& rule, const OptimizerOptions& options) {
  UpdateStep step;
  for (const RuleOption& option : rule.options) step.own.push_back(option.usual);
  for (const auto& [name, value] : options.own) step.own[place_of(rule, name)] = value;
  step.weight_decay = options.weight_decay.value_or(rule.weight_decay);
  for (std::size_t i = 0; i < step.own.size(); ++i)
    check_range(rule.options[i].name, step.own[i], rule.options[i].lowest, rule.options[i].end);
  check_range("weight decay", step.weight_decay, 0, HUGE_VAL);
  check_range("clip", options.clip, 0, HUGE_VAL);
  return step;
}

bool is_matrix(const Parameter& parameter) { return parameter.value().rank() >= 2; }

NamedParameters matrices_first(NamedParameters parameters) {
  std::stable_partition(parameters.begin(), parameters.end(), [](const auto& p) { return is_matrix(p.second); });
  return parameters;
}

}  // namespace

std::vector<OptimizerInfo> optimizers() {
  return guard_memory("optimizer", [&] {
    std::vector<OptimizerInfo> all;
    for (const UpdateRule& rule : update_rules()) {
      all.push_back({rule.name, {}, rule.weight_decay, rule.rate});
      for (const RuleOption& option : rule.options)
        all.back().own.push_back({option.name, option.usual, option.lowest, option.end, option.meaning});
    }
    return all;
  });
}

Optimizer::Optimizer(const NamedParameters& parameters, const OptimizerOptions& options) try
    : rule_(rule_named(options.name)),
      step_(checked(rule_, options)),
      clip_(options.clip),
      set_(matrices_first(parameters)),
      matrices_end_(set_.values().numel()) {
  for (const ParameterSet::Entry& entry : set_.entries())
    if (!is_matrix(entry.parameter)) {
      matrices_end_ = entry.offset;
      break;
    }
  for (std::size_t k = 0; k < states(); ++k)
    (void)set_.state(k);  // allocated now: in the first step they would take blocks that the second step then lacks
} catch (const std::bad_alloc&) {
  fail_out_of_memory("optimizer");
}

std::size_t Optimizer::states() const noexcept { return rule_.states; }

std::string Optimizer::description() const {
  return guard_memory("optimizer", [&] {
    nlohmann::ordered_json description{{"optimizer", rule_.name}};
    for (std::size_t i = 0; i < step_.own.size(); ++i) description[rule_.options[i].name] = step_.own[i];
    description["weight-decay"] = step_.weight_decay;
    description["clip"] = clip_;
    return description.dump();
  });
}

double Optimizer::step(std::int64_t step, double learning_rate) {
  return guard_memory("optimizer", [&] {
    const double norm = l2_norm(set_.gradients());
    if (!std::isfinite(norm)) throw Error("[optimizer] the gradient's norm is not finite");
    const double gradient_scale = clip_ > 0 ? std::min(1.0, clip_ / (norm + 1e-6)) : 1;
    std::vector<Tensor> states;
    for (std::size_t k = 0; k < this->states(); ++k) states.push_back(set_.state(k));
    step_.step = step;
    step_.lr = learning_rate;
    step_.decayed = matrices_end_;
    step_.grad_scale = gradient_scale;
    update(rule_.name, set_.values(), set_.gradients(), states, step_);
    return norm;
  });
}

}  // namespace weft
