// Adam (Kingma and Ba 2014, arXiv 1412.6980) and AdamW (Loshchilov and Hutter 2017, arXiv 1711.05101).
#pragma once
#include <cmath>

#include "train/update_rule.h"
#include "weft/update_rules.h"

namespace weft::detail {

class Adam : public UpdateRule {
 public:
  const char* name() const noexcept override { return "adam"; }
  std::size_t states() const noexcept override { return 2; }
  std::vector<RuleOption> options() override {
    return {{"beta1", &beta1_, 0, 1, "decay of the gradients' mean"},
            {"beta2", &beta2_, 0, 1, "decay of their mean square"},
            {"eps", &eps_, 0, HUGE_VAL, "added to the root of their mean square"}};
  }
  void update(Step& s) const override {
    adam(s.value, s.gradient, s.states[0], s.states[1], s.step, of(s), s.gradient_scale);
  }

 protected:
  AdamOptions of(const Step& s) const { return {s.learning_rate, beta1_, beta2_, eps_, s.weight_decay, s.decayed}; }

  double beta1_ = 0.9, beta2_ = 0.999, eps_ = 1e-8;
};

class AdamW : public Adam {
 public:
  AdamW() {
    beta2_ = 0.99;
    weight_decay = 0.1;
  }
  const char* name() const noexcept override { return "adamw"; }
  void update(Step& s) const override {
    adamw(s.value, s.gradient, s.states[0], s.states[1], s.step, of(s), s.gradient_scale);
  }
};

}  // namespace weft::detail
