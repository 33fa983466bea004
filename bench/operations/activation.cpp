// Measures vector functions and activations on data in the first-level cache, in cycles per element.
#include <memory>
#include <vector>

#include "operations/family.h"
#include "pointwise/kernels/activation.h"
#include "pointwise/kernels/unary.h"
#include "weft/random.h"

namespace weft::bench {
using namespace detail;

namespace {

constexpr std::int64_t length = 3072;  // elements of an array; three arrays take 36 KiB

std::shared_ptr<std::vector<float>> numbers(std::uint64_t stream) {
  const std::vector<float> x = Random(1, stream).uniform({length}, -5, 5).to_vector<float>();
  return std::make_shared<std::vector<float>>(x);
}

Work in_cache(const std::function<void()>& run) {
  Work w;
  w.run = run;
  w.elements = static_cast<double>(length);
  return w;
}

Work unary_work(UnaryKernels<float>::Forward UnaryKernels<float>::*kernel) {
  const auto x = numbers(0), y = numbers(1);
  const auto f = kernels<UnaryKernels<float>>().*kernel;
  return in_cache([=] { f(x->data(), y->data(), length); });
}

Work forward_work(Activation activation) {
  const auto x = numbers(0), y = numbers(1);
  const auto f = kernels<ActivationKernels<float>>().forward;
  return in_cache([=] { f(activation, x->data(), y->data(), length); });
}

Work backward_work(Activation activation) {
  const auto x = numbers(0), dy = numbers(1), dx = numbers(2);
  const auto f = kernels<ActivationKernels<float>>().backward;
  return in_cache([=] { f(activation, x->data(), dy->data(), dx->data(), length); });
}

}  // namespace

void add_activation(int) {
  const std::string label = std::to_string(length);
  using K = UnaryKernels<float>;
  const std::pair<const char*, K::Forward K::*> functions[] = {{"exp", &K::exp},         {"expm1", &K::expm1},
                                                               {"log", &K::log},         {"tanh", &K::tanh},
                                                               {"sigmoid", &K::sigmoid}, {"erf", &K::erf}};
  for (const auto& [name, kernel] : functions)
    add_work(name, label, 1, [kernel = kernel] { return unary_work(kernel); });
  for (const Activation a :
       {Activation::relu, Activation::gelu, Activation::gelu_tanh, Activation::silu, Activation::elu}) {
    add_work(activation_name(a), label, 1, [a] { return forward_work(a); });
    add_work(std::string(activation_name(a)) + "-backward", label, 1, [a] { return backward_work(a); });
  }
}

}  // namespace weft::bench
