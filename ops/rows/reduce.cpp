// sum, mean and max over axes.
#include <algorithm>

#include "base/common.h"
#include "base/kernels/reduce.h"
#include "base/sum.h"
#include "weft/detail/out_of_memory.h"
#include "weft/pointwise.h"
#include "weft/rows.h"
#include "weft/shape.h"

namespace weft {
using namespace detail;

namespace {

// Marks the axes to sum: dims, or all axes if dims is empty. Throws an Error if a dim is out of range or occurs twice.
std::vector<bool> reduced_axes(const char* op, const std::vector<std::int64_t>& dims, std::int64_t rank) {
  std::vector<bool> reduced(static_cast<std::size_t>(rank), dims.empty());
  for (std::int64_t dim : dims) {
    const std::size_t d = checked_dim(op, dim, rank);
    if (reduced[d]) fail(op, "expected distinct dimensions, got dimension " + std::to_string(dim) + " twice");
    reduced[d] = true;
  }
  return reduced;
}

Shape reduced_shape(const Shape& shape, const std::vector<bool>& reduced, bool keepdim) {
  Shape out;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (!reduced[i]) out.push_back(shape[i]);
    else if (keepdim) out.push_back(1);
  }
  return out;
}

// Restores the reduced axes of dy, and expands dy to `shape`, the shape of x.
Tensor spread(const Tensor& dy, const Shape& shape, const std::vector<bool>& reduced) {
  return expand(reshape(dy, reduced_shape(shape, reduced, true)), shape);
}

struct AxesOp : Op {
  std::vector<std::int64_t> dims;
  bool keepdim;
  AxesOp(const std::vector<std::int64_t>& axes, bool keep) : dims(axes), keepdim(keep) {}
  bool keeps_input(std::size_t, const std::vector<bool>&) const override { return false; }

 protected:
  Shape result_shape(const Tensor& x) const {
    return reduced_shape(x.shape(), reduced_axes(name(), dims, x.rank()), keepdim);
  }
  Tensor total(const Tensor& x, const Shape& shape) const {
    return sum_axes(name(), x, reduced_axes(name(), dims, x.rank()), shape);
  }
  Tensor spread_gradient(const Tensor& dy, const Shape& shape) const {
    return spread(dy, shape, reduced_axes(name(), dims, static_cast<std::int64_t>(shape.size())));
  }
};

// y = sum of x over dims. dx = dy
struct SumOp : AxesOp {
  using AxesOp::AxesOp;
  const char* name() const noexcept override { return "sum"; }
  Shape shape(const Inputs& in) const override {
    if (!in[0].defined() || is_integer(in[0].dtype()))
      fail(name(), "expected a real or complex tensor, got " + describe(in[0]));
    return result_shape(in[0]);
  }
  Tensor forward(const Inputs& in, const Shape& shape) override { return as_dtype(total(in[0], shape), in[0].dtype()); }
  void backward(Backward& b) const override { b.add(0, spread_gradient(b.gradient(), b.input_shape(0))); }
};

// y = (sum of x over dims) / N, where N is the number of elements in each sum. dx = dy / N. If N = 0, y is NaN.
struct MeanOp : AxesOp {
  using AxesOp::AxesOp;
  const char* name() const noexcept override { return "mean"; }
  Shape shape(const Inputs& in) const override {
    check_floating(name(), in[0]);
    return result_shape(in[0]);
  }
  Tensor forward(const Inputs& in, const Shape& shape) override {
    return as_dtype(quotient(total(in[0], shape), in[0].shape()), in[0].dtype());
  }
  void backward(Backward& b) const override {
    const Shape& shape = b.input_shape(0);
    const DType dtype = b.gradient().dtype();
    const Tensor each = quotient(as_dtype(b.gradient(), computed_of(dtype)), shape);
    b.add(0, spread_gradient(as_dtype(each, dtype), shape));
  }

 private:
  // Returns x / N, where x contains sums over the axes `dims` of a tensor with the given shape.
  Tensor quotient(const Tensor& x, const Shape& shape) const {
    const auto reduced = reduced_axes(name(), dims, static_cast<std::int64_t>(shape.size()));
    double n = 1;
    for (std::size_t i = 0; i < shape.size(); ++i)
      if (reduced[i]) n *= static_cast<double>(shape[i]);
    return div(x, Tensor::scalar(n, x.dtype()));
  }
};

// Returns x with axis dim moved to the end. The other axes keep their order.
Tensor rows_last(const Tensor& x, std::size_t dim) {
  std::vector<std::int64_t> order;
  for (std::size_t i = 0; i < x.shape().size(); ++i)
    if (i != dim) order.push_back(static_cast<std::int64_t>(i));
  order.push_back(static_cast<std::int64_t>(dim));
  return permute(x, order);
}

// Returns x's shape without axis dim or, if keepdim, with size 1 for this axis. Throws an Error if the axis has no
// elements.
Shape shape_of_largest(const char* op, const Tensor& x, std::int64_t dim, bool keepdim) {
  check_floating(op, x);
  const std::size_t d = checked_dim(op, dim, x.rank());
  Shape out = x.shape();
  if (out[d] == 0) fail(op, "there is no element along axis " + std::to_string(dim) + " of shape " + to_string(out));
  out[d] = 1;
  if (!keepdim) out.erase(out.begin() + static_cast<std::ptrdiff_t>(d));
  return out;
}

// The maximum of each line along a dim, and the first position of the maximum. Both tensors have `shape`.
struct Largest {
  Tensor value, index;

  Largest(const char* op, const Tensor& x, std::int64_t dim, const Shape& shape)
      : value(Tensor::empty(shape, x.dtype())), index(Tensor::empty(shape, DType::i64)) {
    const Tensor rows = raw::contiguous(rows_last(x, checked_dim(op, dim, x.rank())));
    const std::int64_t n = rows.size(-1);
    with_floating(op, rows.dtype(), [&](auto* type) {
      using T = element_of<decltype(type)>;
      const auto kernel = kernels<ReduceKernels<T>>().max_rows;
      T* to = value.mutable_data<T>();
      auto* at = index.mutable_data<std::int64_t>();
      Context::current().parallel_for(value.numel(), rows_per_task(n), [&](std::int64_t begin, std::int64_t end) {
        kernel(rows.data<T>() + begin * n, to + begin, at + begin, end - begin, n);
      });
    });
  }
};

// y = max of x along dim. dx is dy at the first maximum, and 0 elsewhere. NaN is larger than all numbers.
struct MaxOp : Op {
  std::int64_t dim;
  bool keepdim;
  Tensor index;  // position of each row's maximum, in row-major order of y

  MaxOp(std::int64_t axis, bool keep) : dim(axis), keepdim(keep) {}
  const char* name() const noexcept override { return "max"; }
  bool keeps_input(std::size_t, const std::vector<bool>&) const override { return false; }
  Shape shape(const Inputs& in) const override { return shape_of_largest(name(), in[0], dim, keepdim); }

  Tensor forward(const Inputs& in, const Shape& shape) override {
    Largest largest(name(), in[0], dim, shape);
    if (recording) index = largest.index;
    return largest.value;
  }

  void backward(Backward& b) const override {
    const Tensor dy = raw::contiguous(b.gradient());
    Tensor dx = Tensor::zeros(b.input_shape(0), dy.dtype());
    Tensor rows = rows_last(dx, checked_dim(name(), dim, dx.rank()));
    scatter(dy, rows);
    b.add(0, dx);
  }

 private:
  // rows[r, index[r]] = dy[r]
  void scatter(const Tensor& dy, Tensor& rows) const {
    const auto* at = index.data<std::int64_t>();
    const Shape& shape = rows.shape();
    with_floating(name(), dy.dtype(), [&](auto* type) {
      using T = element_of<decltype(type)>;
      T* to = rows.mutable_data<T>();
      for (std::int64_t r = 0; r < dy.numel(); ++r) {
        std::int64_t rest = r, offset = at[r] * rows.strides().back();
        for (std::size_t i = shape.size() - 1; i-- > 0; rest /= shape[i]) offset += rest % shape[i] * rows.strides()[i];
        to[offset] = dy.data<T>()[r];
      }
    });
  }
};

}  // namespace

Tensor sum(const Tensor& x, const std::vector<std::int64_t>& dims, bool keepdim) {
  return guard_memory("sum", [&] { return apply_op(SumOp(dims, keepdim), x); });
}
Tensor mean(const Tensor& x, const std::vector<std::int64_t>& dims, bool keepdim) {
  return guard_memory("mean", [&] { return apply_op(MeanOp(dims, keepdim), x); });
}
Tensor max(const Tensor& x, std::int64_t dim, bool keepdim) { return apply_op(MaxOp(dim, keepdim), x); }
Tensor min(const Tensor& x, std::int64_t dim, bool keepdim) {
  return guard_memory("min", [&] {
    (void)shape_of_largest("min", x, dim, keepdim);
    return neg(max(neg(x), dim, keepdim));
  });
}

Tensor argmax(const Tensor& x, std::int64_t dim, bool keepdim) {
  return guard_memory("argmax", [&] {
    const Shape shape = shape_of_largest("argmax", x, dim, keepdim);
    return Largest("argmax", x.detach(), dim, shape).index;
  });
}
Tensor argmin(const Tensor& x, std::int64_t dim, bool keepdim) {
  return guard_memory("argmin", [&] {
    const Shape shape = shape_of_largest("argmin", x, dim, keepdim);
    return Largest("argmin", neg(x.detach()), dim, shape).index;
  });
}

}  // namespace weft
