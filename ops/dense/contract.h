// Products of two tensors with labeled axes, for einsum and matmul. Nothing here is recorded.
#pragma once
#include <vector>

#include "base/common.h"

namespace weft::detail {

using Labels = std::vector<int>;

// x with a label for each axis; labels are distinct.
struct Labelled {
  Tensor x;
  Labels labels;
};

// y[out] = the sum of a · b over all labels not in `out`. An axis of size 1 broadcasts against any other. A label of
// `out` that neither operand has gives an axis of size 1. Real, bf16 or complex. The result is new and contiguous.
Tensor contract(const Labelled& a, const Labelled& b, const Labels& out);

// y[out] = the sum of x over its labels not in `out`. All labels of `out` are in x. The result is a view of x if
// nothing is summed.
Tensor sum_to_labels(const Labelled& x, const Labels& out);

// The gradient of `contract` with respect to a: a tensor of `shape` with labels `a`. dy has the labels of the result.
// The function uses conj(b) in place of b.
Tensor contract_gradient(const Labelled& dy, const Labelled& b, const Labels& a, const Shape& shape);

// g viewed as a tensor of `shape` with `labels`, which include all of g's. g is repeated along labels that it lacks or
// along which it has size 1.
Tensor spread(const Labelled& g, const Labels& labels, const Shape& shape);

}  // namespace weft::detail
