// PartOp: an operation whose output is a view of a part of its input, as a slice is. Backward writes the part's gradient
// into its place in the whole's, which has no zeros written where a gradient comes later (gradient.h).
#pragma once
#include <optional>
#include <vector>

#include "weft/op.h"

namespace weft::detail {

class PartOp : public Op {
 public:
  // The part of `whole`, a tensor of input 0's shape and dtype, as a view.
  virtual Tensor part_of(const Tensor& whole) const = 0;
  // Views of all other elements of `whole`, or nothing if these are more than a few blocks.
  virtual std::optional<std::vector<Tensor>> rest_of(const Tensor& whole) const = 0;

  bool keeps_input(std::size_t, const std::vector<bool>&) const final { return false; }
  void backward(Backward& b) const final;
};

}  // namespace weft::detail
