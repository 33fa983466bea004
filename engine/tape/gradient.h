// Gradient: the sum of the contributions to one record's gradient, while backward runs.
#pragma once
#include <vector>

#include "weft/detail/part_op.h"

namespace weft::detail {

// Returns a gradient that no other handle shares and that may be written in place: x itself or a copy.
Tensor owned(Tensor x);
Tensor copy_of(const Tensor& x);

// Invariant: the sum is undefined while there is no contribution. Afterwards it holds the sum of all contributions,
// except in `uninitialized_parts_`. This list has disjoint views of the blank parts, which no contribution has reached
// yet: their elements are uninitialized and stand for zeros. Adding to a blank part writes it. Before the whole sum is
// used, the remaining blank parts are filled with zeros. For example, the two halves of gMLP's z are written once each,
// without zeros before. (A slice between two others only finds its place within a larger blank part. Then zeros are
// filled and the slice is added.)
class Gradient {
 public:
  bool defined() const noexcept { return sum_.defined(); }
  bool has_blank_parts() const noexcept { return !uninitialized_parts_.empty(); }
  void fill_blank_parts();

  // The sum. Blank parts are filled with zeros first.
  const Tensor& sum();
  Tensor take();
  void clear();

  // The first contribution is moved in.
  void add(Tensor contribution);
  // Adds to the op's part of this gradient. The gradient has the shape `shape`.
  void add_part(const PartOp& op, const Shape& shape, const Tensor& contribution);
  // The op's part, if it is blank: the caller must then write it at once. Otherwise an undefined tensor.
  Tensor claim_part(const PartOp& op, const Shape& shape, DType dtype);

 private:
  Tensor sum_;
  std::vector<Tensor> uninitialized_parts_;
};

}  // namespace weft::detail
