// The parts of einsum: what an equation says, and in which order its operands are multiplied.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "dense/contract.h"

namespace weft::detail {

// Labels of an equation's operands, axis by axis, and of its result. A letter's label is its character; the axes that
// "..." stands for have the labels ellipsis_label + 0, 1, …, counted from the last one back.
struct EinsumTerms {
  std::vector<Labels> operands;
  Labels output;
};
inline constexpr int ellipsis_label = 256;

[[noreturn]] void fail_einsum(const std::string& equation, const std::string& what);

// Error if the equation has no meaning for operands of these ranks.
EinsumTerms parse_einsum(const std::string& equation, const std::vector<std::size_t>& ranks);

// Nodes are the operands, then the results of the steps. Each step multiplies two nodes; `labels` are the result's.
struct EinsumStep {
  std::size_t left, right;
  Labels labels;
};

struct EinsumPlan {
  std::vector<Labels> operands;  // with repeated indices, axis by axis
  std::vector<Labels> labels;    // of each node, without repetitions
  std::vector<EinsumStep> steps;
  Labels output;
  Shape shape;  // of the result
};

// Error if sizes don't fit. The order of the steps needs the fewest multiplications among those without an intermediate
// larger than every operand and the result (among all, if there are none): exact up to 8 operands, greedy beyond.
EinsumPlan plan_einsum(const std::string& equation, const std::vector<Shape>& shapes);

}  // namespace weft::detail
