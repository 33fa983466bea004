// Tensors that record gradients: weft.Tensor and weft.Parameter, and how arguments of Python become tensors.
#pragma once
#include <nanobind/nanobind.h>
#include <weft/tensor.h>

#include <optional>

namespace weft::python {

// An argument as a tensor: a Tensor; a Parameter, which is then a leaf of the recording tape; or a copy of any array.
Tensor operand(nanobind::handle x);

// x[key]: whole numbers, slices, None, an ellipsis, arrays of indices, and masks.
Tensor indexed(const Tensor& x, nanobind::handle key);

// The value of a number: a float, an int, or one of numpy's numbers; none for anything else. OverflowError for an int
// that is too large.
std::optional<double> number_of(nanobind::handle x);

// Calls f(), which is long, without the interpreter's lock.
template <class F>
auto unlocked(F f) {
  const nanobind::gil_scoped_release release;
  return f();
}

}  // namespace weft::python
