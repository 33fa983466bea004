// The file of an update rule has two parts. One is update_vector(constants, p, g, states), the formula for one vector,
// which kernels call. The other is a struct with
//   static constexpr const char* name
//   static constexpr std::size_t states        number of state tensors of p's size, initially zero
//   static constexpr double weight_decay       the default
//   static constexpr double rate               the default learning rate, as a multiple of AdamW's
//   static constexpr RuleOption options[]      the rule's own options
//   template <class T> using Constants         the constants of a step, in the format that the formula takes
//   template <class T> static Constants<T> constants(const RuleStep&)
#pragma once
#include <cstdint>

#include "weft/update_rules.h"

namespace weft::detail {

// The numbers that describe a step.
struct RuleStep {
  std::int64_t step;  // counts from 1
  double lr, weight_decay, grad_scale;
  const double* own;  // values of the rule's options, in their order
};

// A list of rules. A rule is identified by its position.
template <class... Rule>
struct RuleList {
  static constexpr std::size_t size = sizeof...(Rule);
};

}  // namespace weft::detail
