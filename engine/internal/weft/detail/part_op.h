// PartOp: an operation whose output is a view of a part of its input, such as a slice. Backward writes the part's
// gradient into the corresponding elements of the whole tensor's gradient. These elements are not filled with zeros
// first (gradient.h).
#pragma once
#include <optional>
#include <vector>

#include "weft/op.h"

namespace weft::detail {

class PartOp : public Op {
 public:
  // Returns the part of `whole`, a tensor of input 0's shape and dtype, as a view.
  virtual Tensor part_of(const Tensor& whole) const = 0;
  // Returns views that together contain all other elements of `whole`, or nothing if this would take more than a few
  // views.
  virtual std::optional<std::vector<Tensor>> rest_of(const Tensor& whole) const = 0;

  bool keeps_input(std::size_t, const std::vector<bool>&) const final { return false; }
  void backward(Backward& b) const final;
};

}  // namespace weft::detail
