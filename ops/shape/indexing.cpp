// index_select, gather and scatter_add, which access elements by their indices along an axis.
#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "base/indices.h"
#include "base/lines.h"
#include "weft/detail/out_of_memory.h"
#include "weft/pointwise.h"
#include "weft/rows.h"
#include "weft/shape.h"

namespace weft {
using namespace detail;

namespace {

// Throws an Error unless `index` has x's rank and is, except along axis `dim`, not longer than x. Returns the axis.
std::size_t checked_axis(const char* op, const Tensor& x, std::int64_t dim, const Tensor& index) {
  const std::size_t d = checked_dim(op, dim, x.rank());
  check_indices_dtype(op, index);
  const Shape &shape = x.shape(), &given = index.shape();
  bool fits = given.size() == shape.size();
  for (std::size_t i = 0; fits && i < shape.size(); ++i) fits = i == d || given[i] <= shape[i];
  if (!fits)
    fail(op, "expected indices of the tensor's rank that are not longer than it except along axis " +
                 std::to_string(dim) + ", got indices of shape " + to_string(given) + " for shape " + to_string(shape));
  const Tensor dense = raw::contiguous(index);
  check_range(op, dense.data<std::int64_t>(), dense.numel(), shape[d]);
  return d;
}

// The locations of the elements of a tensor x that indices (…) select along an axis. If an index has the position o on
// the axes before this axis and the position k on the axes after it, both in row-major order, the element is at
// outer(o) + index · stride + inner(k).
struct Choice {
  // Maps positions to offsets in x's storage. The positions number the coordinates on some axes of the indices in
  // row-major order.
  struct Offsets {
    std::vector<std::pair<std::int64_t, std::int64_t>> axes;  // sizes and strides; neighbors are merged where possible

    Offsets(const Shape& sizes, const Strides& strides, std::size_t first, std::size_t last) {
      for (std::size_t i = first; i < last; ++i) {
        if (sizes[i] == 1) continue;
        if (!axes.empty() && axes.back().second == sizes[i] * strides[i])
          axes.back() = {axes.back().first * sizes[i], strides[i]};
        else axes.emplace_back(sizes[i], strides[i]);
      }
      if (axes.empty()) axes.emplace_back(1, 0);
    }
    std::int64_t operator()(std::int64_t position) const {
      std::int64_t offset = 0;
      for (std::size_t i = axes.size(); i-- > 0; position /= axes[i].first)
        offset += position % axes[i].first * axes[i].second;
      return offset;
    }
    // The number of consecutive positions, starting with this one, whose offsets increase by step().
    std::int64_t run(std::int64_t position) const { return axes.back().first - position % axes.back().first; }
    std::int64_t step() const { return axes.back().second; }
  };

  Lines lines;  // of the indices
  Offsets outer, inner;
  std::int64_t stride;

  Choice(const Tensor& x, std::size_t dim, const Shape& index)
      : lines(index, dim),
        outer(index, x.strides(), 0, dim),
        inner(index, x.strides(), dim + 1, index.size()),
        stride(x.strides()[dim]) {}
};

// y[i] = x[…, index[i], …]. index and y are contiguous.
template <class T>
void gather_elements(const Choice& choice, const T* x, const std::int64_t* index, T* y) {
  const std::int64_t n = choice.lines.n, inner = choice.lines.inner, stride = choice.stride;
  const auto gather = [&](std::int64_t at, std::int64_t end) {
    while (at < end) {
      const std::int64_t row = at / inner, k = at % inner;
      const T* from = x + choice.outer(row / n) + choice.inner(k);
      // The rest of a line, or a run along the last axis. The step between their elements of x, apart from the index,
      // is fixed: for a line it is 0.
      const std::int64_t step = choice.inner.step();
      const std::int64_t run_end = std::min(end, at + (inner == 1 ? n - row % n : choice.inner.run(k)));
      for (; at < run_end; ++at, from += step) y[at] = from[index[at] * stride];
    }
  };
  Context::current().parallel_for(choice.lines.outer * n * inner, task_elements, gather);
}

// y[…, index[i], …] += x[i], in the order of i. index and x are contiguous. Each line of y belongs to one task.
template <class T>
void scatter_elements(const Choice& choice, const T* x, const std::int64_t* index, T* y) {
  const std::int64_t n = choice.lines.n, inner = choice.lines.inner, stride = choice.stride, step = choice.inner.step();
  for_lines(choice.lines, [&](std::int64_t o, std::int64_t first, std::int64_t count) {
    for (std::int64_t k = first, next; k < first + count; k = next) {
      next = std::min(first + count, k + choice.inner.run(k));
      T* to = y + choice.outer(o) + choice.inner(k);
      std::int64_t at = o * n * inner + k;
      if (inner == 1)
        for (std::int64_t end = at + n; at < end; ++at) to[index[at] * stride] += x[at];
      else
        for (std::int64_t i = 0; i < n; ++i, at += inner)
          for (std::int64_t j = 0; j < next - k; ++j) to[j * step + index[at + j] * stride] += x[at + j];
    }
  });
}

// Returns the rows of a matrix with the given indices. Indices of shape (…) give a result (…, columns). Integers have
// no gradient.
Tensor rows_at(const Tensor& matrix, const Tensor& indices) {
  if (is_floating(matrix.dtype())) return embedding(indices, matrix);
  if (is_complex(matrix.dtype())) return complex(rows_at(real(matrix), indices), rows_at(imag(matrix), indices));
  Shape shape = indices.shape();
  shape.push_back(matrix.size(1));
  Tensor result = Tensor::empty(shape, matrix.dtype());
  const Tensor from = raw::contiguous(matrix), at = raw::contiguous(indices);
  const std::size_t row = static_cast<std::size_t>(matrix.size(1)) * dtype_size(matrix.dtype());
  auto* to = static_cast<char*>(result.mutable_raw());
  for (std::int64_t i = 0; i < at.numel() && row > 0; ++i, to += row)
    std::memcpy(to, static_cast<const char*>(from.raw()) + static_cast<std::size_t>(at.data<std::int64_t>()[i]) * row,
                row);
  return result;
}

// Returns x[…, index_i, …], in the shape of the indices.
Tensor gathered(const Tensor& x, std::size_t dim, const Tensor& index);

// index, x, source: y = x; y[…, index_i, …] += source_i, in the order of i. dx = dy; dsource_i = dy[…, index_i, …]
struct ScatterAddOp : Op {
  std::size_t dim;
  explicit ScatterAddOp(std::size_t axis) : dim(axis) {}
  const char* name() const noexcept override { return "scatter_add"; }
  bool keeps_input(std::size_t i, const std::vector<bool>& needs) const override { return i == 0 && needs[2]; }

  Shape shape(const Inputs& in) const override {
    check_floating(name(), in[1]);
    check_same_dtype(name(), in[1], in[2]);
    if (in[2].shape() != in[0].shape())
      fail(name(),
           "expected a source of the indices' shape " + to_string(in[0].shape()) + ", got " + to_string(in[2].shape()));
    return in[1].shape();
  }

  Tensor forward(const Inputs& in, const Shape& shape) override {
    Tensor sums = Tensor::empty(shape, computed_of(in[1].dtype()));
    raw::copy(as_dtype(in[1], sums.dtype()), sums);
    const Tensor index = raw::contiguous(in[0]), source = raw::contiguous(as_dtype(in[2], sums.dtype()));
    with_real(name(), sums.dtype(), [&](auto* type) {
      using T = element_of<decltype(type)>;
      scatter_elements(Choice(sums, dim, index.shape()), source.data<T>(), index.data<std::int64_t>(),
                       sums.mutable_data<T>());
    });
    return as_dtype(sums, in[1].dtype());
  }

  void backward(Backward& b) const override {
    if (b.needs(1)) b.add(1, b.gradient());
    if (b.needs(2)) b.add(2, gathered(b.gradient(), dim, b.input(0)));
  }
};

// index, x: y_i = x[…, index_i, …]. dx: 0, with dy_i added at […, index_i, …].
struct GatherOp : Op {
  std::size_t dim;
  explicit GatherOp(std::size_t axis) : dim(axis) {}
  const char* name() const noexcept override { return "gather"; }
  bool keeps_input(std::size_t i, const std::vector<bool>&) const override { return i == 0; }
  Shape shape(const Inputs& in) const override { return in[0].shape(); }

  Tensor forward(const Inputs& in, const Shape& shape) override {
    const Tensor index = raw::contiguous(in[0]), &x = in[1];
    Tensor y = Tensor::empty(shape, x.dtype());
    with_floating(name(), x.dtype(), [&](auto* type) {
      using T = element_of<decltype(type)>;
      gather_elements(Choice(x, dim, shape), x.data<T>(), index.data<std::int64_t>(), y.mutable_data<T>());
    });
    return y;
  }

  void backward(Backward& b) const override {
    const Tensor zeros = Tensor::zeros(b.input_shape(1), b.gradient().dtype());
    b.add(1, apply_op(ScatterAddOp(dim), b.input(0), zeros, b.gradient()));
  }
};

Tensor gathered(const Tensor& x, std::size_t dim, const Tensor& index) {
  if (is_floating(x.dtype())) return apply_op(GatherOp(dim), index, x);
  if (is_complex(x.dtype())) return complex(gathered(real(x), dim, index), gathered(imag(x), dim, index));
  const Tensor dense = raw::contiguous(index);  // integers have no gradient
  Tensor y = Tensor::empty(index.shape(), x.dtype());
  const auto gather = [&](auto* type) {
    using T = element_of<decltype(type)>;
    gather_elements(Choice(x, dim, index.shape()), x.data<T>(), dense.data<std::int64_t>(), y.mutable_data<T>());
  };
  if (x.dtype() == DType::i64) gather(static_cast<std::int64_t*>(nullptr));
  else gather(static_cast<std::int8_t*>(nullptr));
  return y;
}

}  // namespace

Tensor index_select(const Tensor& x, std::int64_t dim, const Tensor& indices) {
  return guard_memory("index_select", [&] {
    if (!x.defined()) fail("index_select", "expected a tensor, got an undefined one");
    const auto d = static_cast<std::int64_t>(checked_dim("index_select", dim, x.rank()));
    check_indices_dtype("index_select", indices);
    if (indices.rank() != 1) fail("index_select", "expected indices of shape (k), got " + describe(indices));
    check_range("index_select", raw::contiguous(indices).data<std::int64_t>(), indices.numel(), x.size(d));
    const Tensor first = transpose(x, 0, d);
    Shape shape = first.shape();
    const Tensor rows =
        rows_at(reshape(first, {shape[0], numel(shape) / std::max<std::int64_t>(shape[0], 1)}), indices);
    shape[0] = indices.numel();
    return transpose(reshape(rows, shape), 0, d);
  });
}

Tensor gather(const Tensor& x, std::int64_t dim, const Tensor& index) {
  return guard_memory("gather", [&] {
    if (!x.defined()) fail("gather", "expected a tensor, got an undefined one");
    return gathered(x, checked_axis("gather", x, dim, index), index);
  });
}

Tensor scatter_add(const Tensor& x, std::int64_t dim, const Tensor& index, const Tensor& source) {
  return guard_memory("scatter_add", [&] {
    check_floating("scatter_add", x);
    return apply_op(ScatterAddOp(checked_axis("scatter_add", x, dim, index)), index, x, source);
  });
}

}  // namespace weft
