// Where a parameter's value lies.
#pragma once
#include <string>

#include "weft/parameter.h"

namespace weft::detail {

// Replaces the parameter's value itself, for all its handles, as by a view of a flat buffer. Error unless shape and dtype
// agree.
void rebind(const Parameter& parameter, Tensor value);

// A parameter of that shape and dtype without memory: its elements are one 0. To write them is an Error; what is assigned
// to it is lost, so that constructors may. rebind and lend give it a value.
Parameter outline(const Shape& shape, DType dtype);

// As rebind; from then on the parameter is not writable(). `why`: what follows its name in the Error of who wants to write it,
// a constant.
void lend(const Parameter& parameter, Tensor value, const char* why);

// As lend, of a quantised model: `value` has the parameter's shape, and its dtype or another of weft/quantize.h; `scales`
// are an i8 value's, else undefined.
void lend_quantized(const Parameter& parameter, Tensor value, Tensor scales, const char* why);

// Whether the tensor lies in a mapped file.
bool in_mapped_file(const Tensor& tensor) noexcept;
// Gives the memory of a tensor that lies in a mapped file back to the system, which reads the file again where it is
// needed; does nothing to others. Any thread may call it while others read the tensor.
void give_back(const Tensor& tensor) noexcept;

// What who wants to write a parameter that isn't writable() is told: `who`, which names the parameter, and why not.
std::string lent_message(const Parameter& parameter, const std::string& who);

}  // namespace weft::detail
