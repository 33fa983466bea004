#include "weft/optimizer.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/names.h"
#include "base/registry.h"
#include "weft/detail/out_of_memory.h"

namespace weft {
using namespace detail;

namespace {

OptimizerKind kind_of(const UpdateRule& rule) {
  OptimizerKind kind;
  kind.name = rule.name;
  kind.weight_decay = rule.weight_decay;
  kind.rate = rule.rate;
  for (const RuleOption& option : rule.options)
    kind.own.push_back({option.name, option.usual, option.lowest, option.end, option.meaning});
  kind.states = rule.states;
  kind.update = [&rule](Tensor& parameters, const Tensor& gradients, std::vector<Tensor>& states,
                        const UpdateStep& step) { update(rule.name, parameters, gradients, states, step); };
  return kind;
}

// weft's own optimizers are the update rules.
Registry<OptimizerKind>& registry() {
  static Registry<OptimizerKind> made = {};
  static const bool filled = [] {
    for (const UpdateRule& rule : update_rules()) made.add(kind_of(rule), [](const auto&, const auto&) {});
    return true;
  }();
  (void)filled;
  return made;
}

const OptimizerKind& kind_named(const std::string& name) {
  if (const OptimizerKind* found = registry().find(name)) return *found;
  throw Error("[optimizer] unknown optimizer \"" + name + "\", expected one of " + join(registry().names()));
}

// The index of the option in the optimizer's list.
std::size_t place_of(const OptimizerKind& kind, const std::string& name) {
  std::vector<std::string> known;
  for (const OptimizerInfo::Option& option : kind.own) {
    if (name == option.name) return known.size();
    known.push_back(option.name);
  }
  throw Error("[optimizer] " + kind.name + " has no " + name + "; its options are " + join(known));
}

void check_range(const std::string& name, double value, double lowest, double end) {
  if (value >= lowest && value < end) return;
  const auto text = [](double number) { return nlohmann::json(number).dump(); };
  throw Error("[optimizer] expected " + name + " of " + text(lowest) + " or more" +
              (std::isfinite(end) ? " and less than " + text(end) : "") + ", got " + std::to_string(value));
}

// The options that are the same in every step.
UpdateStep checked(const OptimizerKind& kind, const OptimizerOptions& options) {
  UpdateStep step;
  for (const OptimizerInfo::Option& option : kind.own) step.own.push_back(option.usual);
  for (const auto& [name, value] : options.own) step.own[place_of(kind, name)] = value;
  step.weight_decay = options.weight_decay.value_or(kind.weight_decay);
  for (std::size_t i = 0; i < step.own.size(); ++i)
    check_range(kind.own[i].name, step.own[i], kind.own[i].lowest, kind.own[i].end);
  check_range("weight decay", step.weight_decay, 0, HUGE_VAL);
  check_range("clip", options.clip, 0, HUGE_VAL);
  for (const ParameterGroup& group : options.groups) {
    check_range("rate of group \"" + group.name + "\"", group.rate, 0, HUGE_VAL);
    check_range("weight decay of group \"" + group.name + "\"", group.weight_decay.value_or(0), 0, HUGE_VAL);
  }
  return step;
}

bool is_matrix(const Parameter& parameter) { return parameter.value().rank() >= 2; }

// Whether the group has the parameter of that name.
bool has(const ParameterGroup& group, const std::string& name) {
  return name.compare(0, group.name.size(), group.name) == 0 &&
         (name.size() == group.name.size() || name[group.name.size()] == '.');
}

// The index of the parameter's group, from 1; 0 if no group has it.
std::size_t group_of(const std::string& name, const std::vector<ParameterGroup>& groups) {
  const auto found =
      std::find_if(groups.begin(), groups.end(), [&](const ParameterGroup& group) { return has(group, name); });
  return found == groups.end() ? 0 : static_cast<std::size_t>(found - groups.begin()) + 1;
}

// The parameters of each group together, its matrices first.
NamedParameters ordered(NamedParameters parameters, const std::vector<ParameterGroup>& groups) {
  const auto place = [&](const auto& p) { return std::make_pair(group_of(p.first, groups), !is_matrix(p.second)); };
  std::stable_sort(parameters.begin(), parameters.end(),
                   [&](const auto& a, const auto& b) { return place(a) < place(b); });
  return parameters;
}

Tensor part_of(const Tensor& flat, std::int64_t begin, std::int64_t end) {
  return flat.view({end - begin}, {1}, begin);
}

}  // namespace

void register_optimizer(OptimizerKind kind) {
  guard_memory("optimizer", [&] {
    if (kind.name.empty() || !kind.update)
      throw Error("[optimizer] \"" + kind.name + "\": expected a name and an update");
    registry().add(std::move(kind), [](const OptimizerKind& added, const OptimizerKind& known) {
      if (added.name == known.name) throw Error("[optimizer] the name \"" + added.name + "\" is taken");
    });
  });
}

std::vector<OptimizerInfo> optimizers() {
  return guard_memory("optimizer", [&] {
    std::vector<OptimizerInfo> all;
    for (const std::string& name : registry().names()) all.push_back(kind_named(name));
    return all;
  });
}

Optimizer::Optimizer(const NamedParameters& parameters, const OptimizerOptions& options) try
    : kind_(kind_named(options.name)),
      options_(options),
      step_(checked(kind_, options)),
      set_(ordered(parameters, options.groups)),
      ranges_(ranges()) {
  for (std::size_t k = 0; k < states(); ++k)
    (void)set_.state(k);  // allocated now: in the first step they would take blocks that the second step then lacks
} catch (const std::bad_alloc&) {
  fail_out_of_memory("optimizer");
}

// Throws an Error for a group without parameters.
std::vector<Optimizer::Range> Optimizer::ranges() {
  const std::vector<ParameterGroup>& groups = options_.groups;
  const std::vector<ParameterSet::Entry>& entries = set_.entries();
  std::vector<Range> all;
  std::size_t next = 0;
  std::int64_t begin = 0;
  const auto take_while = [&](auto belongs) {
    while (next < entries.size() && belongs(entries[next])) ++next;
    return next < entries.size() ? entries[next].offset : set_.values().numel();
  };
  for (std::size_t g = 0; g <= groups.size(); ++g) {
    const auto in_group = [&](const auto& entry) { return group_of(entry.name, groups) == g; };
    const double rate = g == 0 ? 1 : groups[g - 1].rate;
    const double decay = g == 0 ? step_.weight_decay : groups[g - 1].weight_decay.value_or(step_.weight_decay);
    const std::size_t first = next;
    const std::int64_t matrices_end =
        take_while([&](const auto& entry) { return in_group(entry) && is_matrix(entry.parameter); });
    const std::int64_t end = take_while(in_group);
    if (next > first) all.push_back({rate, decay, begin, matrices_end, end});
    else if (g > 0)
      throw Error("[optimizer] no trainable parameter belongs to the group \"" + groups[g - 1].name +
                  "\": expected a name, or the beginning of names up to a dot, such as \"" +
                  entries[0].name.substr(0, entries[0].name.find('.')) + "\"");
    begin = end;
  }
  return all;
}

std::size_t Optimizer::states() const noexcept { return kind_.states; }

std::string Optimizer::description() const {
  return guard_memory("optimizer", [&] {
    nlohmann::ordered_json description{{"optimizer", kind_.name}};
    for (std::size_t i = 0; i < step_.own.size(); ++i) description[kind_.own[i].name] = step_.own[i];
    description["weight-decay"] = step_.weight_decay;
    description["clip"] = options_.clip;
    for (const ParameterGroup& group : options_.groups)
      description["groups"].push_back({{"name", group.name},
                                       {"rate", group.rate},
                                       {"weight-decay", group.weight_decay.value_or(step_.weight_decay)}});
    return description.dump();
  });
}

double Optimizer::step(std::int64_t step, double learning_rate) {
  return guard_memory("optimizer", [&] {
    const double norm = l2_norm(set_.gradients());
    if (!std::isfinite(norm)) throw Error("[optimizer] the gradient's norm is not finite");
    step_.step = step;
    step_.grad_scale = options_.clip > 0 ? std::min(1.0, options_.clip / (norm + 1e-6)) : 1;
    struct Part {
      Tensor values, gradients;
      std::vector<Tensor> states;
    };
    std::vector<Part> parts;  // all of them before the first change, because memory may run out
    for (const Range& range : ranges_) {
      const auto part = [&](const Tensor& flat) { return part_of(flat, range.begin, range.end); };
      parts.push_back({part(set_.values()), part(set_.gradients()), {}});
      for (std::size_t k = 0; k < states(); ++k) parts.back().states.push_back(part(set_.state(k)));
    }
    for (std::size_t i = 0; i < parts.size(); ++i) {
      step_.lr = learning_rate * ranges_[i].rate;
      step_.weight_decay = ranges_[i].weight_decay;
      step_.decayed = ranges_[i].matrices_end - ranges_[i].begin;
      kind_.update(parts[i].values, parts[i].gradients, parts[i].states, step_);
    }
    return norm;
  });
}

}  // namespace weft
