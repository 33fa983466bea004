// Operations on a tensor and a number: sums, quotients, powers, clamp.
#include "pointwise/kernels/number.h"

#include <cmath>

#include "base/pointwise.h"
#include "weft/pointwise.h"

namespace weft {
using namespace detail;

namespace {

struct NumberOp : Op {
  double number;
  explicit NumberOp(double c) : number(c) {}
  Shape shape(const Inputs& in) const override {
    check_floating(name(), in[0]);
    return in[0].shape();
  }
  bool cheap() const override { return true; }

 protected:
  template <class Choice>
  Tensor with_number(const Tensor& x, Choice choice) const {
    return with_floating(name(), x.dtype(), [&](auto* type) {
      using T = element_of<decltype(type)>;
      const auto kernel = choice(kernels<NumberKernels<T>>());
      const auto c = static_cast<Computed<T>>(number);
      return pointwise<T>([=](const T* from, T* to, std::int64_t n) { kernel(from, c, to, n); }, x);
    });
  }
  template <class Choice>
  Tensor slope_with_number(const Tensor& x, Tensor dy, Choice choice) const {
    return with_floating(name(), x.dtype(), [&](auto* type) {
      using T = element_of<decltype(type)>;
      const auto kernel = choice(kernels<NumberKernels<T>>());
      const auto c = static_cast<Computed<T>>(number);
      const auto run = [=](const T* from, const T* g, T* to, std::int64_t n) { kernel(from, c, g, to, n); };
      return pointwise_backward<T>(run, x, std::move(dy));
    });
  }
};

// y = x + c. dx = dy
struct PlusNumberOp : NumberOp {
  using NumberOp::NumberOp;
  const char* name() const noexcept override { return "add"; }
  Tensor forward(const Inputs& in, const Shape&) override {
    return with_number(in[0], [](auto& k) { return k.plus; });
  }
  bool keeps_input(std::size_t, const std::vector<bool>&) const override { return false; }
  void backward(Backward& b) const override { b.add(0, b.gradient()); }
};

// y = x / c. dx = dy / c
struct OverNumberOp : NumberOp {
  using NumberOp::NumberOp;
  const char* name() const noexcept override { return "div"; }
  Tensor forward(const Inputs& in, const Shape&) override {
    return with_number(in[0], [](auto& k) { return k.over; });
  }
  bool keeps_input(std::size_t, const std::vector<bool>&) const override { return false; }
  void backward(Backward& b) const override {
    b.add(0, with_number(b.gradient(), [](auto& k) { return k.over; }));
  }
};

// y = c / x. dx = -c / x² dy
struct UnderNumberOp : NumberOp {
  using NumberOp::NumberOp;
  const char* name() const noexcept override { return "div"; }
  Tensor forward(const Inputs& in, const Shape&) override {
    return with_number(in[0], [](auto& k) { return k.under; });
  }
  bool keeps_input(std::size_t, const std::vector<bool>&) const override { return true; }
  void backward(Backward& b) const override {
    b.add(0, slope_with_number(b.input(0), b.take_gradient(), [](auto& k) { return k.under_slope; }));
  }
};

// y = x^c. dx = c x^(c-1) dy, 0 for c = 0
struct PowNumberOp : NumberOp {
  using NumberOp::NumberOp;
  const char* name() const noexcept override { return "pow"; }
  Tensor forward(const Inputs& in, const Shape&) override {
    return with_number(in[0], [](auto& k) { return k.power; });
  }
  bool keeps_input(std::size_t, const std::vector<bool>&) const override { return true; }
  void backward(Backward& b) const override {
    b.add(0, slope_with_number(b.input(0), b.take_gradient(), [](auto& k) { return k.power_slope; }));
  }
};

// y = min(max(x, low), high). dx = dy where low <= x <= high, else 0
struct ClampOp : Op {
  double low, high;
  ClampOp(double lowest, double highest) : low(lowest), high(highest) {}
  const char* name() const noexcept override { return "clamp"; }
  Shape shape(const Inputs& in) const override {
    check_floating(name(), in[0]);
    if (std::isnan(low) || std::isnan(high))
      fail(name(), "expected bounds other than NaN, got " + std::to_string(low) + " and " + std::to_string(high));
    return in[0].shape();
  }
  Tensor forward(const Inputs& in, const Shape&) override {
    return with_floating(name(), in[0].dtype(), [&](auto* type) {
      using T = element_of<decltype(type)>;
      const auto kernel = kernels<NumberKernels<T>>().clamp;
      const auto l = static_cast<Computed<T>>(low), h = static_cast<Computed<T>>(high);
      return pointwise<T>([=](const T* x, T* y, std::int64_t n) { kernel(x, l, h, y, n); }, in[0]);
    });
  }
  bool cheap() const override { return true; }
  bool keeps_input(std::size_t, const std::vector<bool>&) const override { return true; }
  void backward(Backward& b) const override {
    b.add(0, with_floating(name(), b.gradient().dtype(), [&](auto* type) {
            using T = element_of<decltype(type)>;
            const auto kernel = kernels<NumberKernels<T>>().clamp_slope;
            const auto l = static_cast<Computed<T>>(low), h = static_cast<Computed<T>>(high);
            const auto run = [=](const T* x, const T* dy, T* dx, std::int64_t n) { kernel(x, l, h, dy, dx, n); };
            return pointwise_backward<T>(run, b.input(0), b.take_gradient());
          }));
  }
};

// Whether x is complex. In this case the number is converted to a tensor of rank 0.
bool takes_tensor(const Tensor& x) { return x.defined() && is_complex(x.dtype()); }

}  // namespace

Tensor operator+(const Tensor& x, double c) {
  return takes_tensor(x) ? add(x, Tensor::scalar(c, x.dtype())) : apply_op(PlusNumberOp(c), x);
}
Tensor operator/(const Tensor& x, double c) {
  return takes_tensor(x) ? div(x, Tensor::scalar(c, x.dtype())) : apply_op(OverNumberOp(c), x);
}
Tensor operator/(double c, const Tensor& x) {
  return takes_tensor(x) ? div(Tensor::scalar(c, x.dtype()), x) : apply_op(UnderNumberOp(c), x);
}
Tensor pow(const Tensor& x, double exponent) { return apply_op(PowNumberOp(exponent), x); }
Tensor clamp(const Tensor& x, double low, double high) { return apply_op(ClampOp(low, high), x); }

}  // namespace weft
