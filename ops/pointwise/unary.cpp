// scale, neg, exp, log, sqrt, square.
#include "pointwise/unary.h"

#include "pointwise/kernels/elementwise.h"
#include "weft/pointwise.h"

namespace weft {
using namespace detail;

namespace {

// y = e^x. dx = y dy
struct ExpOp : UnaryOp {
  const char* name() const noexcept override { return "exp"; }
  Tensor forward(const Inputs& in, const Shape&) override {
    return map(in[0], [](auto& k) { return k.exp; });
  }
  bool keeps_input(std::size_t, const std::vector<bool>&) const override { return false; }
  bool keeps_output() const override { return true; }
  void backward(Backward& b) const override { b.add(0, mul(b.gradient(), b.output())); }
};

// y = ln x. dx = dy / x
struct LogOp : UnaryOp {
  const char* name() const noexcept override { return "log"; }
  Tensor forward(const Inputs& in, const Shape&) override {
    return map(in[0], [](auto& k) { return k.log; });
  }
  bool cheap() const override { return true; }
  bool keeps_input(std::size_t, const std::vector<bool>&) const override { return true; }
  void backward(Backward& b) const override { b.add(0, div(b.gradient(), b.input(0))); }
};

// y = sqrt(x). dx = dy / (2y)
struct SqrtOp : UnaryOp {
  const char* name() const noexcept override { return "sqrt"; }
  Tensor forward(const Inputs& in, const Shape&) override {
    return map(in[0], [](auto& k) { return k.sqrt; });
  }
  bool keeps_input(std::size_t, const std::vector<bool>&) const override { return false; }
  bool keeps_output() const override { return true; }
  void backward(Backward& b) const override {
    b.add(0, map_backward(b.output(), b.take_gradient(), [](auto& k) { return k.sqrt_backward; }));
  }
};

// y = x². dx = 2x dy
struct SquareOp : UnaryOp {
  const char* name() const noexcept override { return "square"; }
  Tensor forward(const Inputs& in, const Shape&) override {
    return map(in[0], [](auto& k) { return k.square; });
  }
  bool cheap() const override { return true; }
  bool keeps_input(std::size_t, const std::vector<bool>&) const override { return true; }
  void backward(Backward& b) const override {
    b.add(0, map_backward(b.input(0), b.take_gradient(), [](auto& k) { return k.square_backward; }));
  }
};

// y = factor x, x real or complex. dx = factor dy
struct ScaleOp : Op {
  double factor;
  const char* title;
  ScaleOp(double f, const char* called) : factor(f), title(called) {}
  const char* name() const noexcept override { return title; }
  Shape shape(const Inputs& in) const override {
    if (!in[0].defined() || is_integer(in[0].dtype()))
      fail(name(), "expected a real or complex tensor, got " + describe(in[0]));
    return in[0].shape();
  }
  Tensor forward(const Inputs& in, const Shape& shape) override {
    const Tensor dense = raw::contiguous(in[0]);
    Tensor y = Tensor::empty(shape, in[0].dtype());
    const std::int64_t numbers = y.numel() * (is_complex(y.dtype()) ? 2 : 1);
    with_floating(name(), real_of(y.dtype()), [&](auto* type) {
      using T = element_of<decltype(type)>;
      const auto kernel = kernels<ElementwiseKernels<T>>().scale;
      const auto f = static_cast<Computed<T>>(factor);
      const T* from = static_cast<const T*>(dense.raw());
      T* to = static_cast<T*>(y.mutable_raw());
      Context::current().parallel_for(numbers, task_elements, [&](std::int64_t begin, std::int64_t end) {
        kernel(from + begin, f, to + begin, end - begin);
      });
    });
    return y;
  }
  bool keeps_input(std::size_t, const std::vector<bool>&) const override { return false; }
  void backward(Backward& b) const override { b.add(0, scale(b.gradient(), factor)); }
};

}  // namespace

Tensor scale(const Tensor& x, double factor) { return apply_op(ScaleOp(factor, "scale"), x); }
Tensor neg(const Tensor& x) { return apply_op(ScaleOp(-1, "neg"), x); }
Tensor exp(const Tensor& x) { return apply_op(ExpOp(), x); }
Tensor log(const Tensor& x) { return apply_op(LogOp(), x); }
Tensor sqrt(const Tensor& x) { return apply_op(SqrtOp(), x); }
Tensor square(const Tensor& x) { return apply_op(SquareOp(), x); }

}  // namespace weft
