// Converts Python arrays to weft's tensors and back, without copies. The arrays are numpy arrays, or any arrays with
// DLPack or the buffer protocol.
#pragma once
#include <nanobind/nanobind.h>
#include <weft/tensor.h>

#include <vector>

namespace weft::python {

namespace nb = nanobind;

// Returns a tensor over the array's elements, with any strides. The tensor keeps the array alive. `what` is the array's
// name in error messages. Throws a TypeError unless it is an array in the CPU's memory with one of these dtypes.
Tensor tensor_of(const char* what, nb::handle array, const std::vector<DType>& dtypes);

// Returns an array over the elements of a result that has no other owner. The array is a numpy array or, with `torch`,
// a PyTorch tensor. Because numpy has no bf16, a numpy array of a bf16 result has the dtype float32.
nb::any array_of(Tensor result, bool torch = false);

}  // namespace weft::python
