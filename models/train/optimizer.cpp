#include "weft/optimizer.h"

#include <algorithm>
#include <cmath>

#include "weft/trainer.h"

namespace weft {
namespace {

bool is_matrix(const Parameter& parameter) { return parameter.value().rank() >= 2; }

NamedParameters matrices_first(NamedParameters parameters) {
  std::stable_partition(parameters.begin(), parameters.end(), [](const auto& p) { return is_matrix(p.second); });
  return parameters;
}

Tensor range(const Tensor& flat, std::int64_t begin, std::int64_t end) { return flat.view({end - begin}, {1}, begin); }

}  // namespace

const char* optimizer_name(OptimizerKind kind) noexcept {
  switch (kind) {
    case OptimizerKind::adamw: return "adamw";
    case OptimizerKind::adam: return "adam";
    case OptimizerKind::sgd: return "sgd";
  }
  return "unknown";
}

OptimizerKind optimizer_from_name(const std::string& name) {
  for (OptimizerKind kind : {OptimizerKind::adamw, OptimizerKind::adam, OptimizerKind::sgd})
    if (name == optimizer_name(kind)) return kind;
  throw Error("[optimizer] unknown optimizer \"" + name + "\", expected adamw, adam or sgd");
}

Optimizer::Optimizer(const NamedParameters& parameters, const OptimizerOptions& options)
    : options_(options), set_(matrices_first(parameters)), matrices_end_(set_.values().numel()) {
  for (const ParameterSet::Entry& entry : set_.entries())
    if (!is_matrix(entry.parameter)) {
      matrices_end_ = entry.offset;
      break;
    }
  set_.state(states() - 1);  // now: made in the first step, they would take blocks that the second one misses
}

double Optimizer::step(std::int64_t step, double learning_rate) {
  const double norm = l2_norm(set_.gradients());
  if (!std::isfinite(norm)) throw Error("[optimizer] the gradient's norm is not finite");
  const double grad_scale = options_.clip > 0 ? std::min(1.0, options_.clip / (norm + 1e-6)) : 1;
  const auto update = [&](std::int64_t begin, std::int64_t end, double weight_decay) {
    if (begin == end) return;
    Tensor p = range(set_.values(), begin, end), first = range(set_.state(0), begin, end);
    const Tensor grad = range(set_.gradients(), begin, end);
    if (options_.kind == OptimizerKind::sgd)
      return sgd(p, grad, first, step, {learning_rate, options_.momentum, weight_decay}, grad_scale);
    Tensor second = range(set_.state(1), begin, end);
    const AdamOptions adam_options{learning_rate, options_.beta1, options_.beta2, options_.eps, weight_decay};
    (options_.kind == OptimizerKind::adamw ? adamw : adam)(p, grad, first, second, step, adam_options, grad_scale);
  };
  update(0, matrices_end_, options_.weight_decay);
  update(matrices_end_, set_.values().numel(), 0);
  return norm;
}

}  // namespace weft
