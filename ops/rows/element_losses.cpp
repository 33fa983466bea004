// Losses of two tensors of the same shape: a function of each pair of elements, followed by the mean or the sum.
#include <cmath>

#include "base/pointwise.h"
#include "rows/kernels/loss.h"
#include "weft/pointwise.h"
#include "weft/rows.h"
#include "weft/shape.h"

namespace weft {
using namespace detail;

namespace {

// x (logits) and t have the same shape and are f32 or f64. y = max(x, 0) - x t + ln(1 + e^-|x|), where the first two
// terms are computed as x (1 - t) or -x t. dx = (sigmoid(x) - t) dy, dt = -x dy. This is not a composition of other
// operations, because the gradient at x = 0 would be wrong: max and |x| have no gradient there.
struct BinaryCrossEntropyOp : Op {
  const char* name() const noexcept override { return "binary_cross_entropy_with_logits"; }
  Shape shape(const Inputs& in) const override { return in[0].shape(); }  // checked by pair_of
  Tensor forward(const Inputs& in, const Shape& shape) override {
    const Tensor x = raw::contiguous(in[0]), t = raw::contiguous(in[1]);
    Tensor y = Tensor::empty(shape, x.dtype());
    with_real(name(), x.dtype(), [&](auto* type) {
      using T = element_of<decltype(type)>;
      pointwise<T>(kernels<LossKernels<T>>().binary_cross_entropy, y, x, t);
    });
    return y;
  }
  bool keeps_input(std::size_t i, const std::vector<bool>& needs) const override { return i == 0 || needs[0]; }
  void backward(Backward& b) const override {
    const Tensor x = raw::contiguous(b.input(0)), dy = raw::contiguous(b.gradient());
    if (b.needs(1)) b.add(1, neg(mul(dy, x)));
    if (!b.needs(0)) return;
    const Tensor t = raw::contiguous(b.input(1));
    Tensor dx = Tensor::empty(x.shape(), x.dtype());
    with_real(name(), x.dtype(), [&](auto* type) {
      using T = element_of<decltype(type)>;
      pointwise<T>(kernels<LossKernels<T>>().binary_cross_entropy_backward, dx, x, t, dy);
    });
    b.add(0, dx);
  }
};

// x and t have the same shape and are f32 or f64. y = f(x - t). dx = f'(x - t) dy, dt = -dx.
struct DistanceOp : Op {
  const char* loss;
  Distance f;
  double delta;  // of Distance::huber
  DistanceOp(const char* n, Distance distance, double d) : loss(n), f(distance), delta(d) {}
  const char* name() const noexcept override { return loss; }
  Shape shape(const Inputs& in) const override { return in[0].shape(); }  // checked by pair_of
  Tensor forward(const Inputs& in, const Shape& shape) override {
    const Tensor x = raw::contiguous(in[0]), t = raw::contiguous(in[1]);
    Tensor y = Tensor::empty(shape, x.dtype());
    with_real(loss, x.dtype(), [&](auto* type) {
      using T = element_of<decltype(type)>;
      const auto kernel = [&, k = kernels<LossKernels<T>>().distance](const T* a, const T* b, T* to, std::int64_t n) {
        k(f, static_cast<T>(delta), a, b, to, n);
      };
      pointwise<T>(kernel, y, x, t);
    });
    return y;
  }
  bool keeps_input(std::size_t, const std::vector<bool>&) const override { return true; }
  void backward(Backward& b) const override {
    const Tensor x = raw::contiguous(b.input(0)), t = raw::contiguous(b.input(1)), dy = raw::contiguous(b.gradient());
    Tensor dx = Tensor::empty(x.shape(), x.dtype());
    with_real(loss, x.dtype(), [&](auto* type) {
      using T = element_of<decltype(type)>;
      const auto kernel = [&, k = kernels<LossKernels<T>>().distance_backward](const T* a, const T* c, const T* g,
                                                                               T* to, std::int64_t n) {
        k(f, static_cast<T>(delta), a, c, g, to, n);
      };
      pointwise<T>(kernel, dx, x, t, dy);
    });
    if (b.needs(1)) b.add(1, neg(dx));
    if (b.needs(0)) b.add(0, dx);
  }
};

struct Pair {
  Tensor x, target;
};

// Returns both tensors in the dtype in which x is computed. Throws an Error unless they are real and have the same
// shape.
Pair pair_of(const char* loss, const Tensor& x, const Tensor& target) {
  check_floating(loss, x);
  check_floating(loss, target);
  if (x.shape() != target.shape())
    fail(loss, "expected an output and a target of one shape, got " + to_string(x.shape()) + " and " +
                   to_string(target.shape()));
  const DType dtype = computed_of(x.dtype());
  const auto as = [dtype](const Tensor& any) { return any.dtype() == dtype ? any : cast(any, dtype); };
  return {as(x), as(target)};
}

Tensor reduced(const char* loss, const Tensor& terms, Reduction reduction) {
  switch (reduction) {
    case Reduction::none: return terms;
    case Reduction::sum: return sum(terms);
    case Reduction::batch_mean:
      if (terms.rank() == 0) fail(loss, "expected at least one axis for batch_mean, got " + describe(terms));
      return sum(terms) / static_cast<double>(terms.size(0));
    default: return mean(terms);
  }
}

Tensor distance(const char* loss, Distance f, double delta, const Tensor& x, const Tensor& target,
                Reduction reduction) {
  const Pair of = pair_of(loss, x, target);
  return reduced(loss, apply_op(DistanceOp(loss, f, delta), of.x, of.target), reduction);
}

}  // namespace

Tensor mse_loss(const Tensor& x, const Tensor& target, Reduction reduction) {
  return distance("mse_loss", Distance::squared, 0, x, target, reduction);
}

Tensor l1_loss(const Tensor& x, const Tensor& target, Reduction reduction) {
  return distance("l1_loss", Distance::absolute, 0, x, target, reduction);
}

Tensor huber_loss(const Tensor& x, const Tensor& target, double delta, Reduction reduction) {
  if (!(delta > 0) || !std::isfinite(delta))
    fail("huber_loss", "expected a delta above 0, got " + std::to_string(delta));
  return distance("huber_loss", Distance::huber, delta, x, target, reduction);
}

Tensor binary_cross_entropy_with_logits(const Tensor& logits, const Tensor& target, Reduction reduction) {
  const char* const name = "binary_cross_entropy_with_logits";
  const Pair of = pair_of(name, logits, target);
  return reduced(name, apply_op(BinaryCrossEntropyOp(), of.x, of.target), reduction);
}

Tensor kl_divergence(const Tensor& x, const Tensor& target, Reduction reduction, bool log_target) {
  const Pair of = pair_of("kl_divergence", x, target);
  if (log_target) return reduced("kl_divergence", exp(of.target) * (of.target - of.x), reduction);
  const Tensor logarithm = log(where(equal(of.target, 0), 1, of.target));  // 0 where t is 0
  return reduced("kl_divergence", of.target * (logarithm - of.x), reduction);
}

}  // namespace weft
