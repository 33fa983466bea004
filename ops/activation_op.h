// The activation as an operation, for whoever computes its values in another pass.
#pragma once
#include <memory>

#include "weft/activation.h"
#include "weft/tape.h"

namespace weft {

// y = f(x), cheap.
std::unique_ptr<Op> activation_op(Activation f);

}  // namespace weft
