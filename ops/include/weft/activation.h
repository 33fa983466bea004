/// \file
/// The elementwise activation functions and their names. activation() and the Epilogue of linear layers use the
/// functions, and the configs of models use the names. To add an activation, add a value and a name here, a functor in
/// ops/pointwise/kernels/activation_functors.h, a line in tests/ops/activation.cpp, and, in
/// models/tnn/activation_lift.h, a bound for how far the activation can exceed its argument.
#pragma once
#include <string>

#include "weft/visibility.h"

WEFT_PUBLIC_BEGIN
namespace weft {

/// An elementwise function f(x). For NaN the result is NaN. Φ is the cumulative distribution function of the standard
/// normal distribution.
enum class Activation {
  none,          ///< x
  relu,          ///< max(x, 0)
  gelu,          ///< xΦ(x)
  gelu_tanh,     ///< ½x(1 + tanh(√(2/π)(x + 0.044715x³)))
  silu,          ///< x/(1 + e^-x)
  elu,           ///< x > 0 ? x : e^x - 1
  one_plus_elu,  ///< 1 + elu(x)
  two_plus_elu,  ///< 2 + elu(x)
  sigmoid,       ///< 1/(1 + e^-x)
  tanh,          ///< tanh(x)
  exp,           ///< e^x
  leaky_relu,    ///< x > 0 ? x : 0.01x
};

/// An activation with its name.
struct ActivationName {
  Activation value;  ///< the activation; its numeric value is its index in activation_names
  const char* name;  ///< its name in configs and messages
};

/// All activations, in the order of their numeric values.
inline constexpr ActivationName activation_names[] = {
    {Activation::none, "none"},
    {Activation::relu, "relu"},
    {Activation::gelu, "gelu"},
    {Activation::gelu_tanh, "gelu_tanh"},
    {Activation::silu, "silu"},
    {Activation::elu, "elu"},
    {Activation::one_plus_elu, "1+elu"},
    {Activation::two_plus_elu, "2+elu"},
    {Activation::sigmoid, "sigmoid"},
    {Activation::tanh, "tanh"},
    {Activation::exp, "exp"},
    {Activation::leaky_relu, "leaky_relu"},
};

/// The number of activations. Their numeric values are 0 … activation_count - 1.
inline constexpr int activation_count = static_cast<int>(sizeof activation_names / sizeof *activation_names);

/// The name of an activation. Error for a numeric value that is not an activation.
const char* activation_name(Activation activation);

/// The activation with this name. The function also accepts the names that PyTorch, transformers and TNN's authors use
/// (gelu_new, swish, linear, leak, …). Error for an unknown name.
Activation activation_from_name(const std::string& name);

}  // namespace weft
WEFT_PUBLIC_END
