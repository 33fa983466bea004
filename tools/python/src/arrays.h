// Arrays of Python (numpy's, and any with DLPack or the buffer protocol) as weft's tensors, and back; neither is copied.
#pragma once
#include <nanobind/nanobind.h>
#include <weft/tensor.h>

#include <vector>

namespace weft::python {

namespace nb = nanobind;

// A tensor over the array's elements, of any strides, which keeps the array. `what` names it in messages. TypeError for what
// is no array in the CPU's memory, or of none of these dtypes.
Tensor tensor_of(const char* what, nb::handle array, const std::vector<DType>& dtypes);

// An array over the elements of a result that nobody else has: numpy's or, with `torch`, PyTorch's. bf16 is widened to
// float32 for numpy, which has no such dtype.
nb::any array_of(Tensor result, bool torch = false);

}  // namespace weft::python
