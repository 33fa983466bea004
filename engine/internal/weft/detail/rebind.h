// Changes where a parameter's value is stored.
#pragma once
#include <string>

#include "weft/parameter.h"

namespace weft::detail {

// Replaces the value for all handles of the parameter, for example with a view of a flat buffer. Throws an Error unless
// the new value has the same shape and dtype.
void rebind(const Parameter& parameter, Tensor value);

// Returns a parameter of this shape and dtype that has no memory for its elements. All elements refer to one constant
// 0. Writing to them is an Error. assign() has no effect, so that constructors can assign initial values. Call rebind
// or lend to give the parameter a value.
Parameter outline(const Shape& shape, DType dtype);

// Does the same as rebind. From then on, the parameter is not writable(). `why` is a string constant with the reason.
// Error messages about later writes consist of the parameter's name and `why`.
void lend(const Parameter& parameter, Tensor value, const char* why);

// Does the same as lend, for a quantized model. If quantize() (weft/quantize.h) rounded the value, its dtype is bf16 or
// i8. Otherwise it is the parameter's dtype. `scales` are the scales of an i8 value. For other dtypes, `scales` is
// undefined. Parameter::scales describes the shapes of an i8 value and its scales. Other values have the parameter's
// shape.
void lend_quantized(const Parameter& parameter, Tensor value, Tensor scales, const char* why);

// Whether the tensor lies in a mapped file.
bool in_mapped_file(const Tensor& tensor) noexcept;
// Returns the memory of a tensor in a mapped file to the system, which reads the file again when needed. This is a
// no-op for other tensors. Any thread may call give_back while other threads read the tensor.
void give_back(const Tensor& tensor) noexcept;

// Returns the error message for a write to a parameter that isn't writable(). The message consists of `who`, which
// names the parameter, and the reason.
std::string lent_message(const Parameter& parameter, const std::string& who);

}  // namespace weft::detail
