// Products of two tensors whose axes carry labels, as einsum and matmul need them. Nothing here is recorded.
#pragma once
#include <vector>

#include "base/common.h"

namespace weft::detail {

using Labels = std::vector<int>;

// x, its axes named; no label comes twice.
struct Labelled {
  Tensor x;
  Labels labels;
};

// y[out] = the sum over all labels not in `out` of a · b. An axis of size 1 broadcasts against any other; a label of
// `out` that neither has gives an axis of size 1. Real, bf16 or complex. The result is new and contiguous.
Tensor contract(const Labelled& a, const Labelled& b, const Labels& out);

// y[out] = the sum of x over its labels not in `out`, whose labels are all in x. A view of x if nothing is summed.
Tensor sum_to_labels(const Labelled& x, const Labels& out);

// The gradient of `contract` with respect to a: a tensor of `shape` with labels `a`. dy has the labels of the result.
// conj(b) stands in for b.
Tensor contract_gradient(const Labelled& dy, const Labelled& b, const Labels& a, const Shape& shape);

// g seen as a tensor of `shape` with `labels`, which hold all of g's: repeated along the labels that g lacks or of
// which it has size 1.
Tensor spread(const Labelled& g, const Labels& labels, const Shape& shape);

}  // namespace weft::detail
