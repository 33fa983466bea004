// The elementwise nonlinearities.
#include "weft/activation.h"

#include "base/pointwise.h"
#include "pointwise/kernels/activation.h"
#include "pointwise/records.h"
#include "weft/detail/enum_names.h"
#include "weft/pointwise.h"

namespace weft {
using namespace detail;

template <>
struct detail::EnumNames<Activation> {
  static constexpr const char* what = "activation";
  static constexpr const auto& all = activation_names;
};

namespace {

// The names that PyTorch and transformers use for some activations, and the names that TNN's authors use. Configs from
// weft 0.1 may also contain the names of TNN's authors.
constexpr ActivationName aliases[] = {
    {Activation::none, "identity"},
    {Activation::none, "linear"},
    {Activation::gelu_tanh, "gelu_new"},
    {Activation::gelu_tanh, "gelu_fast"},
    {Activation::gelu_tanh, "gelu_pytorch_tanh"},
    {Activation::silu, "swish"},
    {Activation::leaky_relu, "leak"},
};

constexpr bool names_are_in_order() {
  for (int number = 0; number < activation_count; ++number)
    if (static_cast<int>(activation_names[number].value) != number) return false;
  return true;
}
static_assert(names_are_in_order(), "each activation has its name in weft/activation.h, in the order of their numbers");

// y = f(x). dx = f'(x) dy
struct ActivationOp : Op {
  Activation function;
  const char* title;
  explicit ActivationOp(Activation f, const char* called = "activation") : function(f), title(called) {}
  const char* name() const noexcept override { return title; }
  Shape shape(const Inputs& in) const override {
    check_floating(name(), in[0]);
    return in[0].shape();
  }
  Tensor forward(const Inputs& in, const Shape&) override {
    return with_floating(name(), in[0].dtype(), [&](auto* type) {
      using T = element_of<decltype(type)>;
      const auto kernel = kernels<ActivationKernels<T>>().forward;
      return pointwise<T>([&](const T* x, T* y, std::int64_t n) { kernel(function, x, y, n); }, in[0]);
    });
  }
  bool cheap() const override { return true; }
  bool keeps_input(std::size_t, const std::vector<bool>&) const override { return true; }
  void backward(Backward& b) const override {
    b.add(0, with_floating(name(), b.gradient().dtype(), [&](auto* type) {
            using T = element_of<decltype(type)>;
            const auto kernel = kernels<ActivationKernels<T>>().backward;
            const auto run = [&](const T* x, const T* dy, T* dx, std::int64_t n) { kernel(function, x, dy, dx, n); };
            return pointwise_backward<T>(run, b.input(0), b.take_gradient());
          }));
  }
};

}  // namespace

const char* activation_name(Activation activation) {
  const int number = static_cast<int>(activation);
  if (number < 0 || number >= activation_count)
    throw Error("[activation] expected the number of an activation, from 0 to " + std::to_string(activation_count - 1) +
                ", got " + std::to_string(number));
  return enum_name(activation);
}

Activation activation_from_name(const std::string& name) {
  for (const ActivationName& alias : aliases)
    if (name == alias.name) return alias.value;
  return enum_from_name<Activation>(name);
}

std::unique_ptr<Op> detail::activation_op(Activation f) { return std::make_unique<ActivationOp>(f); }

Tensor activation(const Tensor& x, Activation function) {
  (void)activation_name(function);
  return apply_op(ActivationOp(function), x);
}
Tensor relu(const Tensor& x) { return apply_op(ActivationOp(Activation::relu, "relu"), x); }
Tensor gelu(const Tensor& x) { return apply_op(ActivationOp(Activation::gelu, "gelu"), x); }
Tensor silu(const Tensor& x) { return apply_op(ActivationOp(Activation::silu, "silu"), x); }
Tensor sigmoid(const Tensor& x) { return apply_op(ActivationOp(Activation::sigmoid, "sigmoid"), x); }
Tensor tanh(const Tensor& x) { return apply_op(ActivationOp(Activation::tanh, "tanh"), x); }

}  // namespace weft
