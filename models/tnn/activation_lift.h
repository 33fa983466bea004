// An upper bound on how much larger than its argument the magnitude of an activation can be.
#pragma once
#include <limits>

#include "weft/activation.h"

namespace weft::detail {

// Returns an s with |act(x)| <= |x| + s for all x, or infinity if no such s exists. The switch has no default case, so
// the compiler warns about a missing activation.
inline double activation_lift(Activation act) {
  switch (act) {
    case Activation::none:
    case Activation::relu:
    case Activation::gelu:
    case Activation::gelu_tanh:
    case Activation::silu:
    case Activation::elu:
    case Activation::tanh:
    case Activation::leaky_relu: return 0;
    case Activation::sigmoid: return 1;  // 1/2 would be enough
    case Activation::one_plus_elu: return 1;
    case Activation::two_plus_elu: return 2;
    case Activation::exp: break;
  }
  return std::numeric_limits<double>::infinity();
}

}  // namespace weft::detail
