// Stochastic gradient descent with momentum.
#pragma once
#include "train/update_rule.h"
#include "weft/update_rules.h"

namespace weft::detail {

class Sgd : public UpdateRule {
 public:
  const char* name() const noexcept override { return "sgd"; }
  std::size_t states() const noexcept override { return 1; }
  std::vector<RuleOption> options() override {
    return {{"momentum", &momentum_, 0, 1, "part of the last change that goes on"}};
  }
  void update(RangeStep& r) const override {
    sgd(r.value, r.gradient, r.states[0], r.step, {r.learning_rate, momentum_, r.weight_decay}, r.gradient_scale);
  }

 private:
  double momentum_ = 0.9;
};

}  // namespace weft::detail
