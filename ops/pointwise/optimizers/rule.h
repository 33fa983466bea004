// What the file of an update rule has, beside its formula of one vector, update_vector(constants, p, g, states), which kernels
// call: a struct with
//   static constexpr const char* name
//   static constexpr std::size_t states        tensors that it keeps, as large as p, zeros before the first step
//   static constexpr double weight_decay       the usual one
//   static constexpr double rate               the usual learning rate, as a multiple of AdamW's
//   static constexpr RuleOption options[]      its own
//   template <class T> using Constants         what a step is made of, as the formula takes it
//   template <class T> static Constants<T> constants(const RuleStep&)
#pragma once
#include <cstdint>

#include "weft/update_rules.h"

namespace weft::detail {

// A step in numbers.
struct RuleStep {
  std::int64_t step;  // counts from 1
  double lr, weight_decay, grad_scale;
  const double* own;  // the rule's options, in their order
};

// Rules by their places in a list.
template <class... Rule>
struct RuleList {
  static constexpr std::size_t size = sizeof...(Rule);
};

}  // namespace weft::detail
