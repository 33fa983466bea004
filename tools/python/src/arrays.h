// Converts Python arrays (numpy's, and any with DLPack or the buffer protocol) to weft's tensors and back, without
// copies.
#pragma once
#include <nanobind/nanobind.h>
#include <weft/tensor.h>

#include <vector>

namespace weft::python {

namespace nb = nanobind;

// A tensor over the array's elements, with any strides. It keeps the array alive. `what` names the array in messages.
// TypeError unless it is an array in the CPU's memory with one of these dtypes.
Tensor tensor_of(const char* what, nb::handle array, const std::vector<DType>& dtypes);

// An array over the elements of a result that nobody else holds: numpy's or, with `torch`, PyTorch's. For numpy, which
// has no bf16, bf16 is widened to float32.
nb::any array_of(Tensor result, bool torch = false);

}  // namespace weft::python
