// Where a parameter's value lies.
#pragma once
#include "weft/parameter.h"

namespace weft::detail {

// Replaces the parameter's value itself, for all its handles, as by a view of a flat buffer. Error unless shape and dtype
// agree.
void rebind(const Parameter& parameter, Tensor value);

// A parameter whose value stays where it is, contiguous or not. Nobody may write it.
Parameter as_it_lies(Tensor value);

}  // namespace weft::detail
