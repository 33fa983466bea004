// cross_entropy: softmax, logarithm and mean in a single operation.
#include <algorithm>

#include "base/pointwise.h"
#include "rows/kernels/softmax.h"
#include "weft/rows.h"

namespace weft {
using namespace detail;

namespace {

// logits x (…, c), target (…): y = mean of ln sum_j e^x_rj - x_r,t_r over the N targets t_r that are not ignored. dx_rj
// = dy / N (softmax(x_r)_j - [j = t_r]), and 0 in ignored rows. If N = 0, y is NaN and dx is 0, as in PyTorch. For bf16
// logits y is f32.
struct CrossEntropyOp : Op {
  std::int64_t ignore_index;
  std::int64_t counted = 0;  // N
  Tensor stats;              // (rows, 2): the maximum, and ln sum_j e^(x_rj - maximum)

  explicit CrossEntropyOp(std::int64_t ignore) : ignore_index(ignore) {}
  const char* name() const noexcept override { return "cross_entropy"; }
  bool keeps_input(std::size_t, const std::vector<bool>&) const override { return true; }  // the target has no gradient

  Shape shape(const Inputs& in) const override {
    const Tensor &x = in[0], &target = in[1];
    check_floating(name(), x);
    if (!target.defined() || target.dtype() != DType::i64)
      fail(name(), "expected a target of dtype i64, got " + describe(target));
    if (x.rank() < 1 || Shape(x.shape().begin(), x.shape().end() - 1) != target.shape())
      fail(name(), "expected logits of shape (…, c) and a target of shape (…), got " + describe(x) + " and " +
                       describe(target));
    for (const std::int64_t t : target.to_vector<std::int64_t>())
      if (t != ignore_index && (t < 0 || t >= x.size(-1)))
        fail(name(), "expected targets from 0 to " + std::to_string(x.size(-1) - 1) + ", or the ignored index " +
                         std::to_string(ignore_index) + ", got " + std::to_string(t));
    return {};
  }

  // Calls f(begin, end) for pieces of the rows.
  template <class F>
  void for_rows(std::int64_t rows, std::int64_t classes, F f) const {
    const std::int64_t grain = rows_per_task(classes);
    Context::current().parallel_for(rows, grain, f);
  }

  Tensor forward(const Inputs& in, const Shape& shape) override {
    const Tensor x = raw::contiguous(in[0]), target = raw::contiguous(in[1]);
    const auto* t = target.data<std::int64_t>();
    const std::int64_t rows = target.numel(), c = x.size(-1);
    counted = rows - std::count(t, t + rows, ignore_index);
    const DType wide = computed_of(x.dtype());
    stats = Tensor::empty({rows, 2}, wide);
    Tensor losses = Tensor::empty({rows}, wide);
    const double total = with_floating(name(), x.dtype(), [&](auto* type) {
      using T = element_of<decltype(type)>;
      using C = Computed<T>;
      const auto kernel = kernels<SoftmaxKernels<T>>().cross_entropy;
      C *loss = losses.mutable_data<C>(), *stat = stats.mutable_data<C>();
      for_rows(rows, c, [&](std::int64_t begin, std::int64_t end) {
        kernel(x.data<T>() + begin * c, t + begin, ignore_index, loss + begin, stat + 2 * begin, end - begin, c);
      });
      double sum = 0;
      for (std::int64_t r = 0; r < rows; ++r) sum += static_cast<double>(loss[r]);
      return sum;
    });
    if (!recording) stats = Tensor();
    return Tensor::full(shape, total / static_cast<double>(counted), wide);
  }

  void backward(Backward& b) const override {
    const Tensor x = raw::contiguous(b.input(0)), target = raw::contiguous(b.input(1));
    Tensor dx = Tensor::empty(x.shape(), x.dtype());
    const std::int64_t c = x.size(-1);
    const double factor = b.gradient().item() / static_cast<double>(counted);
    with_floating(name(), x.dtype(), [&](auto* type) {
      using T = element_of<decltype(type)>;
      using C = Computed<T>;
      const auto kernel = kernels<SoftmaxKernels<T>>().cross_entropy_backward;
      T* to = dx.mutable_data<T>();
      for_rows(target.numel(), c, [&](std::int64_t begin, std::int64_t end) {
        kernel(x.data<T>() + begin * c, target.data<std::int64_t>() + begin, ignore_index, stats.data<C>() + 2 * begin,
               static_cast<C>(factor), to + begin * c, end - begin, c);
      });
    });
    b.add(0, dx);
  }
};

}  // namespace

Tensor cross_entropy(const Tensor& logits, const Tensor& target, std::int64_t ignore_index) {
  return apply_op(CrossEntropyOp(ignore_index), logits, target);
}

}  // namespace weft
