// rebind: another place for a parameter's value.
#pragma once
#include "weft/parameter.h"

namespace weft::detail {

// Replaces the parameter's value itself, for all its handles, as by a view of a flat buffer. Error unless shape and dtype
// agree.
void rebind(const Parameter& parameter, Tensor value);

}  // namespace weft::detail
