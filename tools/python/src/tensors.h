// weft.Tensor and weft.Parameter, and functions that convert Python's arguments to tensors.
#pragma once
#include <nanobind/nanobind.h>
#include <weft/tensor.h>

#include <optional>

namespace weft::python {

// Converts an argument to a tensor. The argument is a Tensor, a Parameter, or an array, which is copied. A Parameter
// becomes a leaf of the recording tape.
Tensor operand(nanobind::handle x);

// Returns x[key]. The key may contain integers, slices, None, an ellipsis, arrays of indices, and masks.
Tensor indexed(const Tensor& x, nanobind::handle key);

// Returns the value of a float, an int or a numpy number, and nullopt for any other object. Throws an OverflowError if
// an int is too large.
std::optional<double> number_of(nanobind::handle x);

// Calls f() without holding the interpreter's lock, because f() may take long.
template <class F>
auto unlocked(F f) {
  const nanobind::gil_scoped_release release;
  return f();
}

}  // namespace weft::python
