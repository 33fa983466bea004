// The parts of einsum: parsing an equation and ordering the multiplications of its operands.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "dense/contract.h"

namespace weft::detail {

// The labels of an equation's operands, axis by axis, and of its result. The label of a letter is its character. The
// axes that "..." stands for have the labels ellipsis_label + 0, 1, …, counted backward from the last axis.
struct EinsumTerms {
  std::vector<Labels> operands;
  Labels output;
};
inline constexpr int ellipsis_label = 256;

[[noreturn]] void fail_einsum(const std::string& equation, const std::string& what);

// Throws an Error if the equation is invalid for operands of these ranks.
EinsumTerms parse_einsum(const std::string& equation, const std::vector<std::size_t>& ranks);

// The nodes of a plan are the operands, followed by the results of the steps. Each step multiplies two nodes. `labels`
// are the labels of its result.
struct EinsumStep {
  std::size_t left, right;
  Labels labels;
};

struct EinsumPlan {
  std::vector<Labels> operands;  // the label of each axis of each operand, with repetitions
  std::vector<Labels> labels;    // the labels of each node, without repetitions
  std::vector<EinsumStep> steps;
  Labels output;
  Shape shape;  // the shape of the result
};

// Throws an Error if the sizes don't match. The function considers the orders whose intermediate results are no larger
// than the largest of the operands and the result. If there are none, it considers all orders. Among the orders that it
// considers, it selects the one with the fewest multiplications. The search is exact for up to 8 operands and greedy
// for more operands.
EinsumPlan plan_einsum(const std::string& equation, const std::vector<Shape>& shapes);

}  // namespace weft::detail
