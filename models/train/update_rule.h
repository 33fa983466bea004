// What tells one optimizer from another. A new one is a class like those in adam.h and sgd.h, a line of the table in
// optimizer.cpp and a line of the table in tests/train_optimizer.cpp.
#pragma once
#include <cstdint>
#include <vector>

#include "weft/tensor.h"

namespace weft::detail {

// The flat buffers, all of one shape, and how a step is to change them.
struct Step {
  Tensor& value;
  const Tensor& gradient;       // to be multiplied by gradient_scale
  std::vector<Tensor>& states;  // zeros before the first step
  std::int64_t step;            // counts from 1
  std::int64_t decayed;         // the first elements, which weight_decay is for
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
  // By one rule of weft/update_rules.h: if it fails nothing is changed.
  virtual void update(Step& step) const = 0;

  double weight_decay = 0;
};

}  // namespace weft::detail
