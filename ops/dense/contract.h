// Products of two tensors with labeled axes, for einsum and matmul. Nothing here is recorded.
#pragma once
#include <vector>

#include "base/common.h"

namespace weft::detail {

using Labels = std::vector<int>;

// A tensor x with a label for each axis. The labels are distinct.
struct Labeled {
  Tensor x;
  Labels labels;
};

// Returns y[out] = the sum of a · b over all labels not in `out`. An axis of size 1 broadcasts against any other. A
// label of `out` that neither operand has gives an axis of size 1. The operands are real (including bf16) or complex.
// The result is new and contiguous.
Tensor contract(const Labeled& a, const Labeled& b, const Labels& out);

// Returns y[out] = the sum of x over its labels not in `out`. x has all labels of `out`. If nothing is summed, the
// result is a view of x.
Tensor sum_to_labels(const Labeled& x, const Labels& out);

// Returns the gradient of `contract` with respect to a: a tensor of `shape` with labels `a`. dy has the labels of the
// result. The function uses conj(b) in place of b.
Tensor contract_gradient(const Labeled& dy, const Labeled& b, const Labels& a, const Shape& shape);

// Returns a view of g with the given shape and labels. The labels include all labels of g. g is repeated along labels
// that it lacks or along which it has size 1.
Tensor spread(const Labeled& g, const Labels& labels, const Shape& shape);

}  // namespace weft::detail
