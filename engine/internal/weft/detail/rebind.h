// Changes where a parameter's value lies.
#pragma once
#include <string>

#include "weft/parameter.h"

namespace weft::detail {

// Replaces the value itself for all handles of the parameter, e.g. by a view of a flat buffer. Error unless shape and
// dtype agree.
void rebind(const Parameter& parameter, Tensor value);

// Returns a parameter of that shape and dtype without memory: all its elements are the same 0. Writing them is an
// Error. Assignments are ignored, so that constructors may assign. rebind and lend give it a value.
Parameter outline(const Shape& shape, DType dtype);

// Like rebind, and the parameter is not writable() from then on. `why` is a constant text that follows the parameter's
// name in the Error for writing it.
void lend(const Parameter& parameter, Tensor value, const char* why);

// Like lend, for a quantized model. `value` has the parameter's shape, and its dtype or another one of weft/quantize.h.
// `scales` belong to an i8 value and are otherwise undefined.
void lend_quantized(const Parameter& parameter, Tensor value, Tensor scales, const char* why);

// Whether the tensor lies in a mapped file.
bool in_mapped_file(const Tensor& tensor) noexcept;
// Returns the memory of a tensor in a mapped file to the system, which reads the file again when needed. It is a no-op
// for other tensors. Any thread may call it while others read the tensor.
void give_back(const Tensor& tensor) noexcept;

// The error message for writing a parameter that isn't writable(): `who`, which names the parameter, and the reason.
std::string lent_message(const Parameter& parameter, const std::string& who);

}  // namespace weft::detail
