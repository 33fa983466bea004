#include "weft/optimizer.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>

#include "base/names.h"
#include "base/registry.h"
#include "train/adafactor.h"
#include "train/muon.h"
#include "train/not_finite.h"
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
  kind.update = [&rule](ParameterRange& range, const UpdateStep& step) {
    update(rule.name, range.values, range.gradients, range.states, step);
  };
  return kind;
}

// weft's own optimizers are the update rules, and two optimizers that treat a parameter as a matrix: Muon and
// Adafactor.
Registry<OptimizerKind>& registry() {
  static Registry<OptimizerKind> made = {};
  static const bool filled = [] {
    const auto any = [](const auto&, const auto&) {};
    for (const UpdateRule& rule : update_rules()) made.add(kind_of(rule), any);
    made.add(muon(), any);
    made.add(adafactor(), any);
    return true;
  }();
  (void)filled;
  return made;
}

const OptimizerKind& kind_named(const std::string& name) {
  if (const OptimizerKind* found = registry().find(name)) return *found;
  throw Error("[optimizer] unknown optimizer \"" + name + "\", expected one of " + join(registry().names()));
}

// Returns the index of the option in the optimizer's list.
std::size_t place_of(const OptimizerKind& kind, const std::string& name) {
  std::vector<std::string> known;
  for (const OptimizerInfo::Option& option : kind.own) {
    if (name == option.name) return known.size();
    known.push_back(option.name);
  }
  throw Error("[optimizer] " + kind.name + " has no option " + name + "; its options are " + join(known));
}

void check_range(const std::string& name, double value, double lowest, double end) {
  if (value >= lowest && value < end) return;
  const auto text = [](double number) { return nlohmann::json(number).dump(); };
  throw Error("[optimizer] expected " + name + " of " + text(lowest) + " or more" +
              (std::isfinite(end) ? " and less than " + text(end) : "") + ", got " + std::to_string(value));
}

// Returns an UpdateStep with the options that are the same in every step.
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

// Whether the group has the parameter with this name.
bool has(const ParameterGroup& group, const std::string& name) {
  return name.compare(0, group.name.size(), group.name) == 0 &&
         (name.size() == group.name.size() || name[group.name.size()] == '.');
}

// Returns the number of the parameter's group, counted from 1, or 0 if no group has the parameter.
std::size_t group_of(const std::string& name, const std::vector<ParameterGroup>& groups) {
  const auto found =
      std::find_if(groups.begin(), groups.end(), [&](const ParameterGroup& group) { return has(group, name); });
  return found == groups.end() ? 0 : static_cast<std::size_t>(found - groups.begin()) + 1;
}

// Sorts the parameters by their groups, and puts the matrices of each group first. Throws an Error for a group without
// parameters.
NamedParameters ordered(NamedParameters parameters, const std::vector<ParameterGroup>& groups) {
  for (std::size_t g = 1; g <= groups.size(); ++g)
    if (std::none_of(parameters.begin(), parameters.end(),
                     [&](const auto& p) { return p.second.trainable() && group_of(p.first, groups) == g; }))
      throw Error(
          "[optimizer] the group \"" + groups[g - 1].name +
          "\" has no trainable parameter that does not already belong to an earlier group: expected the name of a "
          "parameter, or its beginning up to a dot");
  const auto place = [&](const auto& p) { return std::make_pair(group_of(p.first, groups), !is_matrix(p.second)); };
  std::stable_sort(parameters.begin(), parameters.end(),
                   [&](const auto& a, const auto& b) { return place(a) < place(b); });
  return parameters;
}

// The names of a run's settings. An optimizer's description must not overwrite them.
const char* const reserved_names[] = {
    "optimizer", "weight-decay", "clip",          "groups",          "model",     "data",           "seed",
    "seq-len",   "batch",        "micro-batches", "label-smoothing", "precision", "schedule",       "lr",
    "warmup",    "lr-floor",     "ema",           "fake-quant",      "step",      "evaluation-due", "equal-shares",
    "best",      "best-by",      "positions",     "without-better",  "exchange"};

void check_kind(const OptimizerKind& kind) {
  const std::string who = "[optimizer] \"" + kind.name + "\": ";
  if (kind.name.empty() || !kind.update) throw Error(who + "expected a name and an update function");
  std::vector<std::string> taken(std::begin(reserved_names), std::end(reserved_names));
  for (const OptimizerInfo::Option& option : kind.own) {
    if (option.name.empty() || std::find(taken.begin(), taken.end(), option.name) != taken.end())
      throw Error(who + "the option's name \"" + option.name + "\" is taken");
    taken.push_back(option.name);
    check_range(option.name, option.usual, option.lowest, option.end);
  }
}

// While in scope, the parameters that were frozen after the optimizer was made may change. At the end, their values and
// states are restored. Sets their gradients to 0.
class FrozenParts {
 public:
  explicit FrozenParts(ParameterSet& set) {
    for (const ParameterSet::Entry& entry : set.entries()) {
      if (entry.parameter.trainable()) continue;
      Tensor gradient = set.gradient(entry);
      raw::fill(gradient, 0);
      keep(set.values(), entry);
      for (std::size_t k = 0; k < set.states(); ++k) keep(set.state(k), entry);
    }
  }
  FrozenParts(const FrozenParts&) = delete;
  FrozenParts& operator=(const FrozenParts&) = delete;
  // Without a loop of weft, which an interrupt could end by an exception.
  ~FrozenParts() {
    for (auto& [place, copy] : kept_)
      std::memcpy(place.mutable_raw(), copy.raw(), static_cast<std::size_t>(place.numel()) * dtype_size(place.dtype()));
  }

 private:
  void keep(const Tensor& flat, const ParameterSet::Entry& entry) {
    const Tensor place = flat.view({entry.numel}, {1}, entry.offset);
    Tensor copy = Tensor::empty(place.shape(), place.dtype());
    raw::copy(place, copy);
    kept_.emplace_back(place, copy);
  }
  std::vector<std::pair<Tensor, Tensor>> kept_;  // places in the flat buffers, and copies of their elements
};

}  // namespace

void register_optimizer(OptimizerKind kind) {
  guard_memory("optimizer", [&] {
    check_kind(kind);
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
      options_of_steps_(checked(kind_, options)),
      set_(ordered(parameters, options.groups)),
      groups_(groups()) {
} catch (const std::bad_alloc&) {
  fail_out_of_memory("optimizer");
}

// Allocates the states now. If the first step allocated them, they would occupy memory blocks that the second step
// would have reused.
std::vector<Optimizer::Group> Optimizer::groups() {
  const std::vector<ParameterGroup>& given = options_.groups;
  const std::vector<ParameterSet::Entry>& entries = set_.entries();
  std::vector<Group> all;
  for (std::size_t first = 0; first < entries.size();) {
    const std::size_t g = group_of(entries[first].name, given);
    const std::int64_t begin = entries[first].offset;
    Group group{g == 0 ? 1 : given[g - 1].rate, options_of_steps_.weight_decay, 0, {}};
    if (g > 0) group.weight_decay = given[g - 1].weight_decay.value_or(group.weight_decay);
    std::size_t next = first;
    for (; next < entries.size() && group_of(entries[next].name, given) == g; ++next) {
      group.range.entries.push_back(entries[next]);
      group.range.entries.back().offset -= begin;
    }
    const std::int64_t end = next < entries.size() ? entries[next].offset : set_.values().numel();
    const auto part = [&](const Tensor& flat) { return flat.view({end - begin}, {1}, begin); };
    group.range.values = part(set_.values());
    group.range.gradients = part(set_.gradients());
    for (std::size_t k = 0; k < states(); ++k) group.range.states.push_back(part(set_.state(k)));
    const auto vector = std::find_if(group.range.entries.begin(), group.range.entries.end(),
                                     [](const ParameterSet::Entry& entry) { return !is_matrix(entry.parameter); });
    group.matrices = vector == group.range.entries.end() ? end - begin : vector->offset;
    all.push_back(std::move(group));
    first = next;
  }
  return all;
}

std::size_t Optimizer::states() const noexcept { return kind_.states; }

std::string Optimizer::description() const {
  return guard_memory("optimizer", [&] {
    nlohmann::ordered_json description{{"optimizer", kind_.name}};
    for (std::size_t i = 0; i < options_of_steps_.own.size(); ++i)
      description[kind_.own[i].name] = options_of_steps_.own[i];
    description["weight-decay"] = options_of_steps_.weight_decay;
    description["clip"] = options_.clip;
    for (const ParameterGroup& group : options_.groups)
      description["groups"].push_back({{"name", group.name},
                                       {"rate", group.rate},
                                       {"weight-decay", group.weight_decay.value_or(options_of_steps_.weight_decay)}});
    return description.dump();
  });
}

// Throws an Error if the update has replaced a tensor, because the result of the update is then lost.
void Optimizer::check_in_place(const Group& group) {
  bool in_place = group.range.values.storage() == set_.values().storage() && group.range.states.size() == states();
  for (std::size_t k = 0; in_place && k < states(); ++k)
    in_place = group.range.states[k].storage() == set_.state(k).storage();
  if (!in_place)
    throw Error("[optimizer] the update of \"" + kind_.name +
                "\" replaced a tensor: expected it to change the values and states in place");
}

double Optimizer::step(std::int64_t step, double learning_rate) {
  return guard_memory("optimizer", [&] {
    const FrozenParts frozen(set_);
    const double norm = l2_norm(set_.gradients());
    if (!std::isfinite(norm)) throw NotFinite("[optimizer] the gradient's norm is not finite");
    UpdateStep now = options_of_steps_;
    now.step = step;
    now.grad_scale = options_.clip > 0 ? std::min(1.0, options_.clip / (norm + 1e-6)) : 1;
    for (Group& group : groups_) {
      now.lr = learning_rate * group.rate;
      now.weight_decay = group.weight_decay;
      now.decayed = group.matrices;
      kind_.update(group.range, now);
      check_in_place(group);
    }
    return norm;
  });
}

}  // namespace weft
