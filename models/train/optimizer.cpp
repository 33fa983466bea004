#include "weft/optimizer.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/names.h"
#include "train/adam.h"
#include "train/sgd.h"

namespace weft {
using namespace detail;

namespace {

template <class Rule>
std::unique_ptr<UpdateRule> make() {
  return std::make_unique<Rule>();
}

// A new optimizer is a line here.
constexpr std::unique_ptr<UpdateRule> (*all_rules[])() = {
    make<AdamW>,
    make<Adam>,
    make<Sgd>,
};

std::unique_ptr<UpdateRule> rule_named(const std::string& name) {
  std::vector<std::string> known;
  for (const auto make_rule : all_rules) {
    auto rule = make_rule();
    if (name == rule->name()) return rule;
    known.emplace_back(rule->name());
  }
  throw Error("[optimizer] unknown optimizer \"" + name + "\", expected one of " + join(known));
}

void set_option(UpdateRule& rule, const std::string& name, double value) {
  std::vector<std::string> known;
  for (const RuleOption& option : rule.options()) {
    if (name == option.name) {
      *option.value = value;
      return;
    }
    known.emplace_back(option.name);
  }
  throw Error(std::string("[optimizer] ") + rule.name() + " has no " + name + ", its options are " + join(known));
}

void check_range(const std::string& name, double value, double lowest, double end) {
  if (value >= lowest && value < end) return;
  const auto text = [](double number) { return nlohmann::json(number).dump(); };
  throw Error("[optimizer] expected " + name + " of " + text(lowest) + " or more" +
              (std::isfinite(end) ? ", less than " + text(end) : "") + ", got " + std::to_string(value));
}

std::unique_ptr<UpdateRule> checked_rule(const OptimizerOptions& options) {
  auto rule = rule_named(options.name);
  for (const auto& [name, value] : options.own) set_option(*rule, name, value);
  rule->weight_decay = options.weight_decay.value_or(rule->weight_decay);
  for (const RuleOption& option : rule->options()) check_range(option.name, *option.value, option.lowest, option.end);
  check_range("weight decay", rule->weight_decay, 0, HUGE_VAL);
  check_range("clip", options.clip, 0, HUGE_VAL);
  return rule;
}

bool is_matrix(const Parameter& parameter) { return parameter.value().rank() >= 2; }

NamedParameters matrices_first(NamedParameters parameters) {
  std::stable_partition(parameters.begin(), parameters.end(), [](const auto& p) { return is_matrix(p.second); });
  return parameters;
}

}  // namespace

std::vector<OptimizerInfo> optimizers() {
  std::vector<OptimizerInfo> all;
  for (const auto make_rule : all_rules) {
    const auto rule = make_rule();
    all.push_back({rule->name(), {}, rule->weight_decay});
    for (const RuleOption& option : rule->options())
      all.back().own.push_back({option.name, *option.value, option.meaning});
  }
  return all;
}

Optimizer::Optimizer(const NamedParameters& parameters, const OptimizerOptions& options)
    : rule_(checked_rule(options)),
      clip_(options.clip),
      set_(matrices_first(parameters)),
      matrices_end_(set_.values().numel()) {
  for (const ParameterSet::Entry& entry : set_.entries())
    if (!is_matrix(entry.parameter)) {
      matrices_end_ = entry.offset;
      break;
    }
  for (std::size_t k = 0; k < states(); ++k)
    (void)set_.state(k);  // now: made in the first step, they would take blocks that the second one misses
}

Optimizer::~Optimizer() = default;
Optimizer::Optimizer(Optimizer&&) noexcept = default;

std::size_t Optimizer::states() const noexcept { return rule_->states(); }

std::string Optimizer::description() const {
  nlohmann::ordered_json description{{"optimizer", rule_->name()}};
  for (const RuleOption& option : rule_->options()) description[option.name] = *option.value;
  description["weight-decay"] = rule_->weight_decay;
  description["clip"] = clip_;
  return description.dump();
}

double Optimizer::step(std::int64_t step, double learning_rate) {
  const double norm = l2_norm(set_.gradients());
  if (!std::isfinite(norm)) throw Error("[optimizer] the gradient's norm is not finite");
  const double gradient_scale = clip_ > 0 ? std::min(1.0, clip_ / (norm + 1e-6)) : 1;
  const auto update = [&](std::int64_t begin, std::int64_t end, double weight_decay) {
    if (begin == end) return;
    const auto part = [&](const Tensor& flat) { return flat.view({end - begin}, {1}, begin); };
    RangeStep range{part(set_.values()), part(set_.gradients()), {}, step, learning_rate, weight_decay, gradient_scale};
    for (std::size_t k = 0; k < states(); ++k) range.states.push_back(part(set_.state(k)));
    rule_->update(range);
  };
  update(0, matrices_end_, rule_->weight_decay);
  update(matrices_end_, set_.values().numel(), 0);
  return norm;
}

}  // namespace weft
