// A custom differentiable operation: the Huber loss of each element (Huber 1964, section 1).
#include <weft/context.h>
#include <weft/custom_op.h>
#include <weft/ops.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "check.h"

namespace {

using weft::Shape;
using weft::Tensor;

// With r = x - target:  y = r²/2 if |r| <= δ, else δ (|r| - δ/2);  dy/dx = clamp(r, -δ, δ) = -dy/dtarget.
struct HuberOp : weft::Op {
  explicit HuberOp(double d) : delta(d) {}
  const char* name() const noexcept override { return "huber"; }

  Shape shape(const weft::Inputs& in) const override {
    weft::check_same_dtype(name(), in[0], in[1]);
    weft::check_real(name(), in[0]);
    if (in[0].shape() != in[1].shape())
      weft::fail(name(), "expected x and target of the same shape, got " + weft::describe(in[0]) + " and " +
                             weft::describe(in[1]));
    if (!(delta > 0)) weft::fail(name(), "expected delta > 0, got " + std::to_string(delta));
    return in[0].shape();
  }

  Tensor forward(const weft::Inputs& in, const Shape&) override {
    return of_residuals(in[0], in[1], [d = delta](auto r) {
      const auto a = std::abs(r);
      return a <= d ? r * r / 2 : d * (a - d / 2);
    });
  }

  void backward(weft::Backward& b) const override {
    const Tensor slope =
        of_residuals(b.input(0), b.input(1), [d = delta](auto r) { return std::clamp<double>(r, -d, d); });
    const Tensor dx = b.gradient() * slope;  // nothing here is recorded
    if (b.needs(0)) b.add(0, dx);
    if (b.needs(1)) b.add(1, weft::scale(dx, -1));
  }
  bool keeps_input(std::size_t, const std::vector<bool>&) const override { return true; }  // both x and target

  // Returns f(x - target) for each element, in any real dtype.
  template <class F>
  static Tensor of_residuals(const Tensor& x, const Tensor& target, F f) {
    Tensor y = Tensor::empty(x.shape(), x.dtype());
    const Tensor a = weft::raw::contiguous(x), b = weft::raw::contiguous(target);  // they may be views
    weft::with_real("huber", x.dtype(), [&](auto* type) {
      using T = weft::element_of<decltype(type)>;
      const T *from = a.data<T>(), *minus = b.data<T>();
      T* to = y.mutable_data<T>();
      weft::Context::current().parallel_for(y.numel(), 4096, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) to[i] = static_cast<T>(f(from[i] - minus[i]));
      });
    });
    return y;
  }

  double delta;
};

// The loss of each element; x and target must have the same shape.
Tensor huber(const Tensor& x, const Tensor& target, double delta = 1) {
  return weft::apply_op(HuberOp(delta), {x, target});
}

// The largest difference between an element of the gradient of Σ w ⊙ huber(x, target) and its central difference
// quotient, which uses x_i - h and x_i + h.
double gradient_error(const Tensor& x, const Tensor& target, const Tensor& w, bool of_target) {
  weft::Gradients gradients;
  weft::Tape tape;
  const Tensor leaf = tape.watch(of_target ? target : x);
  tape.backward(weft::sum(w * (of_target ? huber(x, leaf) : huber(leaf, target))), gradients);
  const std::vector<double> gradient = gradients.of(leaf).to_vector<double>();

  const double h = 1e-5;
  double worst = 0;
  for (std::size_t i = 0; i < gradient.size(); ++i) {
    const auto moved = [&](double by) {
      std::vector<double> values = leaf.to_vector<double>();
      values[i] += by;
      const Tensor t = Tensor::from(values, leaf.shape());
      return weft::sum(w * (of_target ? huber(x, t) : huber(t, target))).item();
    };
    worst = std::max(worst, std::abs((moved(h) - moved(-h)) / (2 * h) - gradient[i]));
  }
  return worst;
}

}  // namespace

int main() {
  const Tensor y = huber(Tensor::from<float>({0.5f, 4, -3}, {3}), Tensor::zeros({3}), 2);
  check(y.to_vector<float>() == std::vector<float>{0.125f, 6, 4}, "the values agree with the formula");

  const Tensor x = weft::Random(1).normal({5, 7}, 0, 2, weft::DType::f64);
  const Tensor target = weft::transpose(weft::Random(2).normal({7, 5}, 0, 1, weft::DType::f64), 0, 1);  // a view
  const Tensor w = weft::Random(3).normal({5, 7}, 0, 1, weft::DType::f64);
  for (const bool of_target : {false, true})
    check(gradient_error(x, target, w, of_target) < 1e-9, of_target ? "gradient of target" : "gradient of x");

  try {
    (void)huber(Tensor::zeros({3}), Tensor::zeros({4}));
  } catch (const weft::Error& error) {
    std::printf("%s\n", error.what());
    check(std::string(error.what()) ==
              "[huber] expected x and target of the same shape, got an f32 tensor of shape (3,) and an f32 tensor of "
              "shape "
              "(4,)",
          "the Error names the operation and the shapes");
    return 0;
  }
  check(false, "different shapes are an Error");
}
