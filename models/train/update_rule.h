// What tells one optimizer from another. A new one is a class like those in adam.h and sgd.h, a line of the table in
// optimizer.cpp and a line of the table in tests/train_optimizer.cpp.
#pragma once
#include <cstdint>
#include <vector>

#include "weft/tensor.h"

namespace weft::detail {

// A range of the flat buffers, all of one shape, and how a step is to change it.
struct RangeStep {
  Tensor value;
  Tensor gradient;             // to be multiplied by gradient_scale
  std::vector<Tensor> states;  // zeros before the first step
  std::int64_t step;           // counts from 1
  double learning_rate, weight_decay, gradient_scale;
};

// An option: lowest <= value < end.
struct RuleOption {
  const char* name;  // on the command line, in a state file and in messages; not that of a run's setting
  double* value;
  double lowest, end;
  const char* meaning;
};

class UpdateRule {
 public:
  virtual ~UpdateRule() = default;
  virtual const char* name() const noexcept = 0;
  virtual std::size_t states() const noexcept = 0;  // buffers that it keeps
  virtual std::vector<RuleOption> options() = 0;    // at first they have the usual values
  virtual void update(RangeStep& range) const = 0;

  double weight_decay = 0;
};

}  // namespace weft::detail
