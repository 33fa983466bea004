// The exponential moving average of a model's parameters.
#pragma once
#include <cstdint>

#include "weft/parameter_set.h"
#include "weft/trainer.h"  // declares the class hidden

namespace weft::detail {

class WeightAverage {
 public:
  // Begins with the values of the parameters. decay: 0 < decay < 1.
  WeightAverage(ParameterSet& parameters, double decay);

  // After a step, counted from 1: average += (1 - b) (values - average), b = min(decay, (1 + step) / (10 + step)).
  void add(std::int64_t step);
  Tensor& average() noexcept { return average_; }  // flat, like ParameterSet::values()

  bool is_in_use() const noexcept { return users_ > 0; }

  // While such an object exists, the parameters have the values of the average. If `average` is null, nothing happens.
  class InUse {
   public:
    explicit InUse(WeightAverage* average) : average_(average) {
      if (average_ != nullptr && average_->users_++ == 0) average_->swap();
    }
    ~InUse() {
      if (average_ != nullptr && --average_->users_ == 0) average_->swap();
    }
    InUse(const InUse&) = delete;
    InUse& operator=(const InUse&) = delete;

   private:
    WeightAverage* average_;
  };

 private:
  void swap() noexcept;

  ParameterSet& parameters_;
  double decay_;
  int users_ = 0;
  Tensor average_;
};

}  // namespace weft::detail
