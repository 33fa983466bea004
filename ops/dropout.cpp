// dropout, with a counter instead of a mask.
#include <cmath>

#include "pointwise.h"

namespace weft {
namespace {

// y_i = uniform(i) < p ? 0 : x_i / (1 - p), i the row-major index.
template <class T>
void drop(const T* x, T* y, std::int64_t begin, std::int64_t end, double p, const Random& random) {
  // uniform(i) is the upper 53 bits of bits(i), as a fraction.
  const auto limit = static_cast<std::uint64_t>(std::ceil(p * 0x1p53));
  const T factor = static_cast<T>(1 / (1 - p));
  for (std::int64_t i = begin; i < end; ++i)
    y[i] = random.bits(static_cast<std::uint64_t>(i)) >> 11 < limit ? T(0) : x[i] * factor;
}

// dx: the same function of dy.
struct DropoutOp : Op {
  double p;
  Random random;
  DropoutOp(double probability, const Random& generator) : p(probability), random(generator) {}
  const char* name() const noexcept override { return "dropout"; }
  Shape shape(const Inputs& in) const override {
    check_real(name(), in[0]);
    if (!(p >= 0 && p < 1)) fail(name(), "expected 0 <= p < 1, got " + std::to_string(p));
    return in[0].shape();
  }
  Tensor masked(const Tensor& x) const {
    const Tensor dense = raw::contiguous(x);
    Tensor y = Tensor::empty(x.shape(), x.dtype());
    with_real(name(), x.dtype(), [&](auto* type) {
      using T = element_of<decltype(type)>;
      T* to = y.mutable_data<T>();
      Context::current().parallel_for(y.numel(), pointwise_grain, [&](std::int64_t begin, std::int64_t end) {
        drop(dense.data<T>(), to, begin, end, p, random);
      });
    });
    return y;
  }
  Tensor forward(const Inputs& in, const Shape&) override { return masked(in[0]); }
  bool keeps_input(std::size_t, const std::vector<bool>&) const override { return false; }
  void backward(Backward& b) const override { b.add(0, masked(b.gradient())); }
};

}  // namespace

Tensor dropout(const Tensor& x, double p, const Random& random) { return apply(DropoutOp(p, random), {x}); }

}  // namespace weft
