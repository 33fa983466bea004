// dropout. It uses counter-based random numbers instead of a saved mask.
#include <cmath>

#include "base/pointwise.h"
#include "pointwise/kernels/dropout.h"
#include "weft/pointwise.h"

namespace weft {
using namespace detail;

namespace {

// y_i = 0 · x_i if uniform(i) < p, otherwise y_i = x_i / (1 - p). i is the row-major index. dx is the same function of
// dy.
struct DropoutOp : Op {
  double p;
  Random random;
  DropoutOp(double probability, const Random& generator) : p(probability), random(generator) {}
  const char* name() const noexcept override { return "dropout"; }
  Shape shape(const Inputs& in) const override {
    check_floating(name(), in[0]);
    if (!(p >= 0 && p < 1)) fail(name(), "expected 0 <= p < 1, got " + std::to_string(p));
    return in[0].shape();
  }
  Tensor masked(const Tensor& x) const {
    const Tensor dense = raw::contiguous(x);
    Tensor y = Tensor::empty(x.shape(), x.dtype());
    // uniform(i) is a fraction made of the upper 53 bits of bits(i).
    const auto limit = static_cast<std::uint64_t>(std::ceil(p * 0x1p53));
    with_floating(name(), x.dtype(), [&](auto* type) {
      using T = element_of<decltype(type)>;
      const auto kernel = kernels<DropoutKernels<T>>().dropout;
      const auto factor = static_cast<Computed<T>>(1 / (1 - p));
      T* to = y.mutable_data<T>();
      static_assert(task_elements % 2 == 0);
      Context::current().parallel_for(y.numel(), task_elements, [&](std::int64_t begin, std::int64_t end) {
        kernel(dense.data<T>() + begin, to + begin, end - begin, static_cast<std::uint64_t>(begin), random.seed(),
               random.stream(), limit, factor);
      });
    });
    return y;
  }
  Tensor forward(const Inputs& in, const Shape&) override { return masked(in[0]); }
  bool keeps_input(std::size_t, const std::vector<bool>&) const override { return false; }
  void backward(Backward& b) const override { b.add(0, masked(b.gradient())); }
};

}  // namespace

Tensor dropout(const Tensor& x, double p, const Random& random) { return apply_op(DropoutOp(p, random), x); }

}  // namespace weft
