// Views and copies: reshape, permute, slice, concat, expand, flip, cast.
#include <algorithm>
#include <numeric>

#include "base/common.h"
#include "weft/detail/out_of_memory.h"
#include "weft/detail/part_op.h"
#include "weft/shape.h"

namespace weft {
using namespace detail;

namespace {

// An op whose backward needs only shapes.
struct LayoutOp : Op {
  bool keeps_input(std::size_t, const std::vector<bool>&) const override { return false; }
};

// y = x with another shape: a view if the strides allow it, otherwise a copy. dx = dy in x's shape.
struct ReshapeOp : LayoutOp {
  Shape to;
  const char* name() const noexcept override { return "reshape"; }
  Shape shape(const Inputs& in) const override {
    check_defined(name(), in[0]);
    Shape out = to;
    std::int64_t unknown = -1;
    for (std::size_t i = 0; i < out.size(); ++i) {
      if (out[i] != -1) continue;
      if (unknown >= 0) fail(name(), "expected at most one size of -1, got shape " + to_string(to));
      unknown = static_cast<std::int64_t>(i);
      out[i] = 1;
    }
    const bool sizes = std::all_of(out.begin(), out.end(), [](auto n) { return n >= 0; });
    const std::int64_t known = sizes ? numel(out) : 0;
    if (unknown >= 0 && known > 0) out[static_cast<std::size_t>(unknown)] = in[0].numel() / known;
    if (!sizes || numel(out) != in[0].numel())
      fail(name(), "a tensor of shape " + to_string(in[0].shape()) + " can't be reshaped to " + to_string(to));
    return out;
  }
  Tensor forward(const Inputs& in, const Shape& shape) override { return reshaped(in[0], shape); }
  void backward(Backward& b) const override { b.add(0, reshape(b.gradient(), b.input_shape(0))); }
};

// Axis i of y is axis dims[i] of x. dx is dy with the inverse permutation.
struct PermuteOp : LayoutOp {
  std::vector<std::int64_t> dims;
  const char* name() const noexcept override { return "permute"; }
  Shape shape(const Inputs& in) const override {
    check_defined(name(), in[0]);
    std::vector<std::int64_t> sorted = dims, all(in[0].shape().size());
    std::sort(sorted.begin(), sorted.end());
    std::iota(all.begin(), all.end(), 0);
    if (sorted != all)
      fail(name(), to_string(dims) + " is not a permutation of the axes of " + to_string(in[0].shape()));
    Shape out;
    for (std::int64_t d : dims) out.push_back(in[0].shape()[static_cast<std::size_t>(d)]);
    return out;
  }
  Tensor forward(const Inputs& in, const Shape& shape) override {
    Strides strides;
    for (std::int64_t d : dims) strides.push_back(in[0].strides()[static_cast<std::size_t>(d)]);
    return in[0].view(shape, strides, in[0].offset());
  }
  void backward(Backward& b) const override {
    std::vector<std::int64_t> inverse(dims.size());
    for (std::size_t i = 0; i < dims.size(); ++i)
      inverse[static_cast<std::size_t>(dims[i])] = static_cast<std::int64_t>(i);
    b.add(0, permute(b.gradient(), inverse));
  }
};

// y = x[start:stop:step] along dim, a view. dx[start:stop:step] += dy
struct SliceOp : PartOp {
  std::int64_t dim, start, stop, step;
  SliceOp(std::int64_t d, std::int64_t first, std::int64_t end, std::int64_t stride)
      : dim(d), start(first), stop(end), step(stride) {}
  const char* name() const noexcept override { return "slice"; }
  Shape shape(const Inputs& in) const override {
    check_defined(name(), in[0]);
    Shape out = in[0].shape();
    std::int64_t& n = out[checked_dim(name(), dim, in[0].rank())];
    if (start < 0 || stop < start || stop > n || step < 1)
      fail(name(), "expected 0 <= start <= stop <= " + std::to_string(n) + " and step >= 1 for axis " +
                       std::to_string(dim) + " of shape " + to_string(in[0].shape()) + ", got " +
                       std::to_string(start) + ":" + std::to_string(stop) + ":" + std::to_string(step));
    n = stop == start ? 0 : (stop - start - 1) / step + 1;
    return out;
  }
  Tensor view_of(const Tensor& x, const Shape& shape) const {
    const std::size_t d = checked_dim(name(), dim, x.rank());
    Strides strides = x.strides();
    const std::int64_t offset = x.offset() + start * strides[d];
    if (shape[d] > 1) strides[d] *= step;
    return x.view(shape, strides, offset);
  }
  Tensor forward(const Inputs& in, const Shape& shape) override { return view_of(in[0], shape); }
  Tensor part_of(const Tensor& whole) const override { return view_of(whole, shape({whole})); }
  std::optional<std::vector<Tensor>> rest_of(const Tensor& whole) const override {
    if (step > 1) return {};
    std::vector<Tensor> rest;
    for (const auto& [first, end] : {std::pair{std::int64_t{0}, start}, std::pair{stop, whole.size(dim)}})
      if (first < end) rest.push_back(SliceOp(dim, first, end, 1).part_of(whole));
    return rest;
  }
};

// Concatenates the parts along dim. The gradient of a part is its slice of dy.
struct ConcatOp : LayoutOp {
  std::int64_t dim;
  explicit ConcatOp(std::int64_t d) : dim(d) {}
  const char* name() const noexcept override { return "concat"; }
  Shape shape(const Inputs& in) const override {
    if (in.empty()) fail(name(), "expected at least one tensor to concatenate");
    check_defined(name(), in[0]);
    const std::size_t d = checked_dim(name(), dim, in[0].rank());
    Shape out = in[0].shape();
    out[d] = 0;
    for (const Tensor& part : in) {
      check_same_dtype(name(), in[0], part);
      Shape rest = part.shape();
      if (rest.size() == out.size()) rest[d] = out[d];
      if (rest != out)
        fail(name(), "shapes " + to_string(in[0].shape()) + " and " + to_string(part.shape()) +
                         " can't be concatenated along axis " + std::to_string(dim));
      out[d] += part.shape()[d];
    }
    return out;
  }
  Tensor forward(const Inputs& in, const Shape& shape) override {
    Tensor y = Tensor::empty(shape, in[0].dtype());
    std::int64_t at = 0;
    for (const Tensor& part : in) {
      const std::int64_t end = at + part.size(dim);
      Tensor place = slice(y, dim, at, end);
      raw::copy(part, place);
      at = end;
    }
    return y;
  }
  void backward(Backward& b) const override {
    const std::size_t d = checked_dim(name(), dim, b.gradient().rank());
    const Tensor dy = b.gradient();
    std::int64_t at = 0;
    for (std::size_t i = 0; i < parts; ++i) {
      const std::int64_t end = at + b.input_shape(i)[d];
      if (b.needs(i)) b.add(i, slice(dy, dim, at, end));
      at = end;
    }
  }
  std::size_t parts = 0;
};

// y = x broadcast to a shape, as a view with strides 0. dx is the sum of dy over the broadcast axes.
struct ExpandOp : LayoutOp {
  Shape to;
  const char* name() const noexcept override { return "expand"; }
  Shape shape(const Inputs& in) const override {
    check_defined(name(), in[0]);
    if (broadcast_shapes(name(), in[0].shape(), to) != to)
      fail(name(), "shape " + to_string(in[0].shape()) + " doesn't broadcast to " + to_string(to));
    return to;
  }
  Tensor forward(const Inputs& in, const Shape& shape) override {
    return in[0].view(shape, broadcast_strides(in[0], shape), in[0].offset());
  }
  void backward(Backward& b) const override { b.add(0, sum_to(b.gradient(), b.input_shape(0))); }
};

// y_i = x_(n-1-i) along dim, a view with a negative stride. dx = flip(dy)
struct FlipOp : LayoutOp {
  std::int64_t dim;
  explicit FlipOp(std::int64_t d) : dim(d) {}
  const char* name() const noexcept override { return "flip"; }
  Shape shape(const Inputs& in) const override {
    check_defined(name(), in[0]);
    (void)checked_dim(name(), dim, in[0].rank());
    return in[0].shape();
  }
  Tensor forward(const Inputs& in, const Shape& shape) override {
    const std::size_t d = checked_dim(name(), dim, in[0].rank());
    Strides strides = in[0].strides();
    const std::int64_t offset = in[0].offset() + std::max<std::int64_t>(shape[d] - 1, 0) * strides[d];
    strides[d] = -strides[d];
    return in[0].view(shape, strides, offset);
  }
  void backward(Backward& b) const override { b.add(0, flip(b.gradient(), dim)); }
};

// y = x rounded to another real dtype, or integers converted to real numbers. dx = dy rounded to x's dtype.
struct CastOp : LayoutOp {
  DType from = DType::f32, to;
  explicit CastOp(DType dtype) : to(dtype) {}
  const char* name() const noexcept override { return "cast"; }
  Shape shape(const Inputs& in) const override {
    const bool from_integers = in[0].defined() && is_integer(in[0].dtype());
    if (!from_integers) check_floating(name(), in[0]);
    if (!is_floating(to) && !(from_integers && to == DType::i64))
      fail(name(), std::string("expected dtype bf16, f32 or f64") + (from_integers ? " or i64" : "") + ", got " +
                       dtype_name(to));
    return in[0].shape();
  }
  Tensor forward(const Inputs& in, const Shape&) override {
    from = in[0].dtype();
    return raw::convert(in[0], to);
  }
  // If the backward pass of another op needs the widened x, the tape can keep x instead.
  bool cheap() const override { return dtype_size(from) < dtype_size(to); }
  void backward(Backward& b) const override { b.add(0, raw::convert(b.gradient(), from)); }
};

}  // namespace

Tensor reshape(const Tensor& x, const Shape& shape) {
  return guard_memory("reshape", [&] {
    ReshapeOp op;
    op.to = shape;
    return apply_op(std::move(op), x);
  });
}

Tensor permute(const Tensor& x, const std::vector<std::int64_t>& dims) {
  return guard_memory("permute", [&] {
    PermuteOp op;
    op.dims = dims;
    for (std::int64_t& d : op.dims)
      if (d < 0) d += x.rank();
    return apply_op(std::move(op), x);
  });
}

Tensor transpose(const Tensor& x, std::int64_t dim0, std::int64_t dim1) {
  return guard_memory("transpose", [&] {
    std::vector<std::int64_t> dims(x.shape().size());
    std::iota(dims.begin(), dims.end(), 0);
    std::swap(dims[checked_dim("transpose", dim0, x.rank())], dims[checked_dim("transpose", dim1, x.rank())]);
    return permute(x, dims);
  });
}

Tensor slice(const Tensor& x, std::int64_t dim, std::int64_t start, std::int64_t stop, std::int64_t step) {
  return apply_op(SliceOp(dim, start, stop, step), x);
}

std::vector<Tensor> chunk(const Tensor& x, std::int64_t chunks, std::int64_t dim) {
  return guard_memory("chunk", [&] {
    const std::int64_t n = x.size(dim);
    if (chunks < 1 || n % chunks != 0)
      fail("chunk", "axis " + std::to_string(dim) + " of shape " + to_string(x.shape()) + " can't be divided into " +
                        std::to_string(chunks) + " equal pieces");
    std::vector<Tensor> parts;
    for (std::int64_t i = 0; i < chunks; ++i) parts.push_back(slice(x, dim, i * (n / chunks), (i + 1) * (n / chunks)));
    return parts;
  });
}

Tensor concat(const std::vector<Tensor>& parts, std::int64_t dim) {
  ConcatOp op(dim);
  op.parts = parts.size();
  return apply_op(std::move(op), parts);
}

Tensor expand(const Tensor& x, const Shape& shape) {
  return guard_memory("expand", [&] {
    ExpandOp op;
    op.to = shape;
    return apply_op(std::move(op), x);
  });
}

Tensor flip(const Tensor& x, std::int64_t dim) { return apply_op(FlipOp(dim), x); }
Tensor cast(const Tensor& x, DType dtype) { return apply_op(CastOp(dtype), x); }

}  // namespace weft
