/// \file
/// Prints tensors.
#pragma once
#include <iosfwd>

#include "weft/tensor.h"

#pragma GCC visibility push(default)
namespace weft {

/// Writes the elements like numpy, in rows and in columns of one width, then the dtype and the shape:
/// `[[0.5, -1], [2, 3e+08]] f32 (2, 2)`, one row a line. Real numbers have the digits of out.precision(), in the format
/// %g. Of a tensor with more than 1000 elements it writes the first and last three along each axis, and "..." between
/// them. An undefined tensor is `undefined`.
std::ostream& operator<<(std::ostream& out, const Tensor& x);

}  // namespace weft
#pragma GCC visibility pop
