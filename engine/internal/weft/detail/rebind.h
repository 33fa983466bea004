// Changes where a parameter's value is stored.
#pragma once
#include <string>

#include "weft/parameter.h"

namespace weft::detail {

// Replaces the value for all handles of the parameter, for example by a view of a flat buffer. Throws an Error unless
// shape and dtype match.
void rebind(const Parameter& parameter, Tensor value);

// Returns a parameter of this shape and dtype without memory of its own: all its elements are the same 0. Writing to
// them is an Error. Assignments are ignored, so that constructors can assign initial values. Call rebind or lend to
// give the parameter a value.
Parameter outline(const Shape& shape, DType dtype);

// Does the same as rebind, and from then on the parameter is not writable(). `why` is a string constant. It follows the
// parameter's name in the Error for a write.
void lend(const Parameter& parameter, Tensor value, const char* why);

// Does the same as lend, for a quantized model. `value` has the parameter's shape. Its dtype is the parameter's or
// another one of weft/quantize.h. `scales` are the scales of an i8 value. For other dtypes they are undefined.
void lend_quantized(const Parameter& parameter, Tensor value, Tensor scales, const char* why);

// Whether the tensor lies in a mapped file.
bool in_mapped_file(const Tensor& tensor) noexcept;
// Returns the memory of a tensor in a mapped file to the system, which reads the file again when needed. This is a
// no-op for other tensors. Any thread may call this while others read the tensor.
void give_back(const Tensor& tensor) noexcept;

// Returns the error message for a write to a parameter that isn't writable(): `who`, which names the parameter, and the
// reason.
std::string lent_message(const Parameter& parameter, const std::string& who);

}  // namespace weft::detail
