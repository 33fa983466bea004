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
  void update(Step& s) const override {
    sgd(s.value, s.gradient, s.states[0], s.step, {s.learning_rate, momentum_, s.weight_decay, s.decayed},
        s.gradient_scale);
  }

 private:
  double momentum_ = 0.9;
};

}  // namespace weft::detail
