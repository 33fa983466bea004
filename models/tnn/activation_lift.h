// An upper bound of how far an activation exceeds its argument.
#pragma once
#include <limits>

#include "weft/activation.h"

namespace weft::detail {

// An s with |act(x)| <= |x| + s for all x; infinity if there is none. There is no default case, so that the compiler
// names a missing activation.
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
