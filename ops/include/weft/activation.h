// The elementwise nonlinearities, as ops::activation, the Epilogue of linear and the models' configs name them.
#pragma once
#include <string>

#pragma GCC visibility push(default)
namespace weft {

// none x · relu max(x, 0) · gelu xΦ(x) · gelu_tanh ½x(1 + tanh(√(2/π)(x + 0.044715x³))) · silu x/(1 + e^-x) ·
// elu x > 0 ? x : e^x - 1 · one_plus_elu, two_plus_elu 1 + elu, 2 + elu · sigmoid 1/(1 + e^-x) · tanh · exp ·
// leaky_relu x > 0 ? x : 0.01x
enum class Activation {
  none, relu, gelu, gelu_tanh, silu, elu, one_plus_elu, two_plus_elu, sigmoid, tanh, exp, leaky_relu
};

// The name that activation_from_name reads: "none", "relu", "gelu", "gelu_tanh", "silu", "elu", "1+elu", "2+elu",
// "sigmoid", "tanh", "exp" or "leak".
const char* activation_name(Activation activation);

// Error if the name is none of those.
Activation activation_from_name(const std::string& name);

}  // namespace weft
#pragma GCC visibility pop
