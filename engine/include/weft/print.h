/// \file
/// Prints tensors.
#pragma once
#include <iosfwd>

#include "weft/tensor.h"
#include "weft/visibility.h"

WEFT_PUBLIC_BEGIN
namespace weft {

/// Writes the elements in numpy's style, with one row on each line and columns of equal width, followed by the dtype
/// and the shape: `[[0.5, -1], [2, 3e+08]] f32 (2, 2)`. Floating-point numbers are written in the format %g with
/// out.precision() digits, but at least 1 and at most 17. If a tensor has more than 1000 elements, only the first and
/// the last three along each axis are written, with "..." between them. An undefined tensor is written as `undefined`.
std::ostream& operator<<(std::ostream& out, const Tensor& x);

}  // namespace weft
WEFT_PUBLIC_END
