// Gradient: the sum of the contributions to one record's gradient, while backward runs.
#pragma once
#include <vector>

#include "weft/detail/part_op.h"

namespace weft::detail {

// A gradient whose elements nobody else holds and that may be written in place: x itself or a copy.
Tensor owned(Tensor x);
Tensor copy_of(const Tensor& x);

// Invariant: the sum is undefined as long as there is no contribution. Afterwards it holds the numbers of all
// contributions, except in `blank`, disjoint views of parts that none has reached yet: their elements are not set and stand
// for zeros. Who adds to a part that is blank writes it; who needs the whole sum has what is still blank filled first.
// So the halves of gMLP's z are written once each, and no zeros before them. (A slice between two others finds its place
// only within a larger blank part: zeros are filled, and it is added.)
class Gradient {
 public:
  bool defined() const noexcept { return sum_.defined(); }
  bool has_blank_parts() const noexcept { return !blank_.empty(); }
  void fill_blank_parts();

  // The sum; blank parts are filled.
  const Tensor& sum();
  Tensor take();
  void clear();

  // The first contribution is moved in.
  void add(Tensor contribution);
  // To the op's part of this gradient, which is one of `shape`.
  void add_part(const PartOp& op, const Shape& shape, const Tensor& contribution);
  // The op's part, if it is blank: from then on it is the caller's to write, at once. Else undefined.
  Tensor claim_part(const PartOp& op, const Shape& shape, DType dtype);

 private:
  Tensor sum_;
  std::vector<Tensor> blank_;
};

}  // namespace weft::detail
