// Gradient: the gradient of one record while backward runs, as the sum of all contributions so far.
#pragma once
#include <vector>

#include "weft/detail/part_op.h"

namespace weft::detail {

// Returns x itself if no other handle shares its elements and they may be written in place, otherwise a copy.
Tensor owned(Tensor x);
Tensor copy_of(const Tensor& x);

// Invariant: the sum is undefined while there is no contribution. Afterwards it holds the sum of all contributions,
// except in its blank parts, which no contribution has reached yet. The elements of blank parts are uninitialized and
// stand for zeros. `uninitialized_parts_` contains disjoint views of the blank parts. A contribution to exactly one
// blank part is written into it. Before the whole sum is used, the remaining blank parts are filled with zeros. For
// example, the gradients of the two halves of gMLP's z are each written once, and no zeros are written first. A slice
// may also cover only a piece of a blank part. In this case, all blank parts are filled with zeros, and the
// contribution is added.
class Gradient {
 public:
  bool defined() const noexcept { return sum_.defined(); }
  bool has_blank_parts() const noexcept { return !uninitialized_parts_.empty(); }
  void fill_blank_parts();

  // Returns the sum. Fills blank parts with zeros first.
  const Tensor& sum();
  Tensor take();
  void clear();

  // Moves the first contribution instead of copying it.
  void add(Tensor contribution);
  // Adds to the op's part of this gradient. `shape` is the shape of the whole gradient.
  void add_part(const PartOp& op, const Shape& shape, const Tensor& contribution);
  // Returns the op's part if it is blank. The caller must then write the part immediately. Otherwise returns an
  // undefined tensor.
  Tensor claim_part(const PartOp& op, const Shape& shape, DType dtype);

 private:
  Tensor sum_;
  std::vector<Tensor> uninitialized_parts_;
};

}  // namespace weft::detail
