// softmax, log_softmax and logsumexp along any axis.
#include <algorithm>

#include "base/pointwise.h"
#include "rows/kernels/softmax.h"
#include "weft/detail/out_of_memory.h"
#include "weft/rows.h"
#include "weft/shape.h"

namespace weft {
using namespace detail;

namespace {

// Calls kernel(x0, x1, …, y, rows, n) for pieces of the rows along `dim`, and returns y. Operands that are not
// contiguous along `dim` are copied first.
template <class T, class Kernel, class... X>
Tensor along_rows(Kernel kernel, std::int64_t dim, const Tensor& first, const X&... rest) {
  const auto last = [dim](const Tensor& x) { return transpose(x, dim, -1); };
  const auto dense = [&](const Tensor& x) { return raw::contiguous(last(x)); };
  Tensor y = Tensor::empty(last(first).shape(), first.dtype());
  if (y.numel() == 0) return last(y);
  const std::int64_t n = y.size(-1);
  T* to = y.mutable_data<T>();
  const auto run = [&](const auto&... x) {
    Context::current().parallel_for(y.numel() / n, rows_per_task(n), [&](std::int64_t begin, std::int64_t end) {
      kernel(x.template data<T>() + begin * n..., to + begin * n, end - begin, n);
    });
  };
  run(dense(first), dense(rest)...);
  return last(y);
}

struct RowOp : Op {
  std::int64_t dim;
  explicit RowOp(std::int64_t d) : dim(d) {}
  Shape shape(const Inputs& in) const override {
    check_floating(name(), in[0]);
    (void)checked_dim(name(), dim, in[0].rank());
    return in[0].shape();
  }
  bool keeps_input(std::size_t, const std::vector<bool>&) const override { return false; }
  bool keeps_output() const override { return true; }

 protected:
  // choice(kernels of T) selects the kernel.
  template <class Choice, class... X>
  Tensor run(Choice choice, const Tensor& first, const X&... rest) const {
    return with_floating(name(), first.dtype(), [&](auto* type) {
      using T = element_of<decltype(type)>;
      return along_rows<T>(choice(kernels<SoftmaxKernels<T>>()), dim, first, rest...);
    });
  }
};

// y_i = e^x_i / sum_j e^x_j. dx_i = y_i (dy_i - sum_j dy_j y_j)
struct SoftmaxOp : RowOp {
  using RowOp::RowOp;
  const char* name() const noexcept override { return "softmax"; }
  Tensor forward(const Inputs& in, const Shape&) override {
    return run([](auto& k) { return k.softmax; }, in[0]);
  }
  void backward(Backward& b) const override {
    b.add(0, run([](auto& k) { return k.softmax_backward; }, b.output(), b.gradient()));
  }
};

// y_i = x_i - ln sum_j e^x_j. dx_i = dy_i - e^y_i sum_j dy_j
struct LogSoftmaxOp : RowOp {
  using RowOp::RowOp;
  const char* name() const noexcept override { return "log_softmax"; }
  Tensor forward(const Inputs& in, const Shape&) override {
    return run([](auto& k) { return k.log_softmax; }, in[0]);
  }
  void backward(Backward& b) const override {
    b.add(0, run([](auto& k) { return k.log_softmax_backward; }, b.output(), b.gradient()));
  }
};

// x (…, n): y = ln sum_j e^x_j, (…). dx = softmax(x) dy
struct LogSumExpOp : Op {
  Tensor stats;  // (rows, 2), from the kernel
  const char* name() const noexcept override { return "logsumexp"; }
  bool keeps_input(std::size_t, const std::vector<bool>&) const override { return true; }
  Shape shape(const Inputs& in) const override { return Shape(in[0].shape().begin(), in[0].shape().end() - 1); }

  Tensor forward(const Inputs& in, const Shape& shape) override {
    const Tensor x = raw::contiguous(in[0]);
    Tensor y = Tensor::empty(shape, computed_of(x.dtype()));
    stats = Tensor::empty({y.numel(), 2}, y.dtype());
    with_floating(name(), x.dtype(), [&](auto* type) {
      using T = element_of<decltype(type)>;
      const auto kernel = kernels<SoftmaxKernels<T>>().logsumexp;
      Computed<T>*to = y.mutable_data<Computed<T>>(), *each = stats.mutable_data<Computed<T>>();
      for_rows(x, [&](std::int64_t first, std::int64_t rows, std::int64_t n) {
        kernel(x.data<T>() + first * n, to + first, each + 2 * first, rows, n);
      });
    });
    return as_dtype(y, x.dtype());
  }

  void backward(Backward& b) const override {
    const Tensor x = raw::contiguous(b.input(0)), dy = raw::contiguous(as_dtype(b.gradient(), stats.dtype()));
    Tensor dx = Tensor::empty(x.shape(), x.dtype());
    with_floating(name(), x.dtype(), [&](auto* type) {
      using T = element_of<decltype(type)>;
      const auto kernel = kernels<SoftmaxKernels<T>>().logsumexp_backward;
      const auto *each = stats.data<Computed<T>>(), *slope = dy.data<Computed<T>>();
      T* to = dx.mutable_data<T>();
      for_rows(x, [&](std::int64_t first, std::int64_t rows, std::int64_t n) {
        kernel(x.data<T>() + first * n, each + 2 * first, slope + first, to + first * n, rows, n);
      });
    });
    b.add(0, dx);
  }

 private:
  // Calls f(first row, rows, n) for pieces of x's rows.
  template <class F>
  static void for_rows(const Tensor& x, F f) {
    if (x.numel() == 0) return;
    const std::int64_t n = x.size(-1);
    Context::current().parallel_for(x.numel() / n, rows_per_task(n),
                                    [&](std::int64_t begin, std::int64_t end) { f(begin, end - begin, n); });
  }
};

}  // namespace

Tensor softmax(const Tensor& x, std::int64_t dim) { return apply_op(SoftmaxOp(dim), x); }
Tensor log_softmax(const Tensor& x, std::int64_t dim) {
  if (!x.defined() || x.dtype() != DType::bf16) return apply_op(LogSoftmaxOp(dim), x);
  // Backward needs e^y. If y were rounded to bf16, e^y would have errors of several percent, so backward reads y in
  // f32.
  return cast(log_softmax(cast(x, DType::f32), dim), DType::bf16);
}

Tensor logsumexp(const Tensor& x, std::int64_t dim, bool keepdim) {
  return guard_memory("logsumexp", [&] {
    check_floating("logsumexp", x);
    if (x.size(static_cast<std::int64_t>(checked_dim("logsumexp", dim, x.rank()))) == 0)
      fail("logsumexp", "there is no element along axis " + std::to_string(dim) + " of shape " + to_string(x.shape()));
    const Tensor y = apply_op(LogSumExpOp(), transpose(x, dim, -1));
    const Tensor in_place = transpose(unsqueeze(y, -1), dim, -1);
    return keepdim ? in_place : squeeze(in_place, dim);
  });
}

}  // namespace weft
