// The exponential moving average of a model's parameters.
#pragma once
#include <cstdint>

#include "weft/parameter_set.h"

namespace weft::detail {

class WeightAverage {
 public:
  // Begins with the values of the parameters. decay: 0 < decay < 1.
  WeightAverage(ParameterSet& parameters, double decay);

  // After a step, counted from 1: average = b average + (1 - b) values, b = min(decay, (1 + step) / (10 + step)).
  void add(std::int64_t step);
  Tensor& average() noexcept { return average_; }  // flat, like ParameterSet::values()

  // While it exists, the parameters have the average's values. Null: nothing happens.
  class InUse {
   public:
    explicit InUse(WeightAverage* average) : average_(average) {
      if (average_ != nullptr) average_->swap();
    }
    ~InUse() {
      if (average_ != nullptr) average_->swap();
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
  Tensor average_;
};

}  // namespace weft::detail
