// Rounds a model's weights while a step or an evaluation computes with them ("fake quantization", Jacob et al. 2018,
// arXiv 1712.05877). The gradient for the rounded weights is then applied to the exact ones.
#pragma once
#include "weft/parameter_set.h"
#include "weft/quantize.h"
#include "weft/trainer.h"  // declares the class hidden

namespace weft::detail {

class RoundedWeights {
 public:
  // Throws an Error if no parameter of the set is quantizable.
  RoundedWeights(ParameterSet& parameters, Quantization to);

  bool is_in_use() const noexcept { return users_ > 0; }

  // While such an object exists, the quantizable parameters have the values that quantize() would round them to. If
  // `rounded` is null, nothing happens.
  class InUse {
   public:
    explicit InUse(RoundedWeights* rounded) : rounded_(rounded) {
      if (rounded_ == nullptr) return;
      if (rounded_->users_ == 0) rounded_->round();
      ++rounded_->users_;
    }
    ~InUse() {
      if (rounded_ != nullptr && --rounded_->users_ == 0) rounded_->restore();
    }
    InUse(const InUse&) = delete;
    InUse& operator=(const InUse&) = delete;

   private:
    RoundedWeights* rounded_;
  };

 private:
  void round();
  void restore() noexcept;

  ParameterSet& parameters_;
  Quantization to_;
  int users_ = 0;
  Tensor exact_;  // flat, like ParameterSet::values()
};

}  // namespace weft::detail
