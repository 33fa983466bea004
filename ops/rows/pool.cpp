// max_pool1d and mean_pool1d: the largest element, or the mean, of windows along the last axis.
#include <algorithm>

#include "base/common.h"
#include "weft/detail/out_of_memory.h"
#include "weft/rows.h"

namespace weft {
using namespace detail;

namespace {

// Windows along rows of n elements: window i of a row has the elements i step … i step + kernel - 1.
struct Windows {
  std::int64_t kernel, step, n = 0, count = 0;

  Windows(const char* op, const Tensor& x, std::int64_t size, std::int64_t stride)
      : kernel(size), step(stride == 0 ? size : stride) {
    check_floating(op, x);
    if (x.rank() < 1) fail(op, "expected a tensor (…, n), got shape ()");
    n = x.size(-1);
    if (kernel < 1 || kernel > n || step < 1)
      fail(op, "expected a kernel of 1 to " + std::to_string(n) + " elements and a stride of at least 1, got " +
                   std::to_string(kernel) + " and " + std::to_string(stride));
    count = (n - kernel) / step + 1;
  }

  // Calls f(row) for each of the rows of x.
  template <class F>
  void for_rows(const Tensor& x, F f) const {
    Context::current().parallel_for(x.numel() / n, rows_per_task(n), [&](std::int64_t row, std::int64_t end) {
      for (; row < end; ++row) f(row);
    });
  }
};

struct PoolOp : Op {
  Windows windows;
  explicit PoolOp(const Windows& w) : windows(w) {}
  bool keeps_input(std::size_t, const std::vector<bool>&) const override { return false; }
  Shape shape(const Inputs& in) const override {
    Shape shape = in[0].shape();
    shape.back() = windows.count;
    return shape;
  }

 protected:
  // dx: for each window i, counted over all rows, add(i, dy_i, dx of its row) adds to the row. Sums of bf16 are in f32.
  template <class Add>
  void add_gradients(Backward& b, Add add) const {
    const Tensor dy = raw::contiguous(as_dtype(b.gradient(), computed_of(b.gradient().dtype())));
    Tensor dx = Tensor::zeros(b.input_shape(0), dy.dtype());
    with_real(name(), dy.dtype(), [&](auto* type) {
      using T = element_of<decltype(type)>;
      T* to = dx.mutable_data<T>();
      windows.for_rows(dx, [&](std::int64_t row) {
        for (std::int64_t i = row * windows.count; i < (row + 1) * windows.count; ++i)
          add(i, dy.data<T>()[i], to + row * windows.n);
      });
    });
    b.add(0, as_dtype(dx, b.gradient().dtype()));
  }
};

// y_i = the largest x_j of window i. dx_j = the sum of dy_i over the windows whose first largest element is x_j. NaN is
// larger than all numbers.
struct MaxPoolOp : PoolOp {
  using PoolOp::PoolOp;
  Tensor position;  // the position of each window's largest element in its row
  const char* name() const noexcept override { return "max_pool1d"; }

  Tensor forward(const Inputs& in, const Shape& shape) override {
    const Tensor x = raw::contiguous(as_dtype(in[0], computed_of(in[0].dtype())));
    Tensor y = Tensor::empty(shape, x.dtype());
    if (recording) position = Tensor::empty(shape, DType::i64);
    with_real(name(), x.dtype(), [&](auto* type) {
      using T = element_of<decltype(type)>;
      T* values = y.mutable_data<T>();
      auto* positions = recording ? position.mutable_data<std::int64_t>() : nullptr;
      windows.for_rows(x, [&](std::int64_t row) {
        const T* from = x.data<T>() + row * windows.n;
        for (std::int64_t i = 0; i < windows.count; ++i) {
          const T *first = from + i * windows.step, *last = first + windows.kernel;
          T largest = *first;
          bool has_nan = false;  // no branch in the loop, because it would be hard to predict
          for (const T* p = first; p < last; ++p) {
            largest = *p > largest ? *p : largest;
            has_nan |= *p != *p;
          }
          if (has_nan || positions) {
            const T* at = std::find_if(first, last, [&](T v) { return has_nan ? v != v : v == largest; });
            largest = *at;
            if (positions) positions[row * windows.count + i] = at - from;
          }
          values[row * windows.count + i] = largest;
        }
      });
    });
    return as_dtype(y, in[0].dtype());
  }

  void backward(Backward& b) const override {
    const auto* positions = position.data<std::int64_t>();
    add_gradients(b, [=](std::int64_t i, auto dy, auto* dx) { dx[positions[i]] += dy; });
  }
};

// y_i = the mean of window i. dx_j = the sum of dy_i / kernel over the windows with x_j.
struct MeanPoolOp : PoolOp {
  using PoolOp::PoolOp;
  const char* name() const noexcept override { return "mean_pool1d"; }

  Tensor forward(const Inputs& in, const Shape& shape) override {
    const Tensor x = raw::contiguous(as_dtype(in[0], computed_of(in[0].dtype())));
    Tensor y = Tensor::empty(shape, x.dtype());
    with_real(name(), x.dtype(), [&](auto* type) {
      using T = element_of<decltype(type)>;
      T* to = y.mutable_data<T>();
      const std::int64_t grain = rows_per_task(windows.kernel);
      Context::current().parallel_for(y.numel(), grain, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) {
          const T* from = x.data<T>() + i / windows.count * windows.n + i % windows.count * windows.step;
          double sum = 0;
          for (std::int64_t j = 0; j < windows.kernel; ++j) sum += static_cast<double>(from[j]);
          to[i] = static_cast<T>(sum / static_cast<double>(windows.kernel));
        }
      });
    });
    return as_dtype(y, in[0].dtype());
  }

  void backward(Backward& b) const override {
    add_gradients(b, [this](std::int64_t i, auto dy, auto* dx) {
      const auto share = dy / static_cast<decltype(dy)>(windows.kernel);
      auto* first = dx + i % windows.count * windows.step;
      for (std::int64_t j = 0; j < windows.kernel; ++j) first[j] += share;
    });
  }
};

}  // namespace

Tensor max_pool1d(const Tensor& x, std::int64_t kernel, std::int64_t stride) {
  return guard_memory("max_pool1d", [&] { return apply_op(MaxPoolOp(Windows("max_pool1d", x, kernel, stride)), x); });
}
Tensor mean_pool1d(const Tensor& x, std::int64_t kernel, std::int64_t stride) {
  return guard_memory("mean_pool1d",
                      [&] { return apply_op(MeanPoolOp(Windows("mean_pool1d", x, kernel, stride)), x); });
}

}  // namespace weft
