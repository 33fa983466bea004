// Elements by their indices along an axis: index_select, gather, scatter_add.
#include <algorithm>
#include <cstring>

#include "base/common.h"
#include "weft/detail/out_of_memory.h"
#include "weft/pointwise.h"
#include "weft/rows.h"
#include "weft/shape.h"

namespace weft {
using namespace detail;

namespace {

void check_indices(const char* op, const Tensor& indices, std::int64_t size) {
  if (!indices.defined() || indices.dtype() != DType::i64)
    fail(op, "expected indices of dtype i64, got " + describe(indices));
  const Tensor dense = raw::contiguous(indices);
  const auto* all = dense.data<std::int64_t>();
  for (std::int64_t i = 0; i < dense.numel(); ++i)
    if (all[i] < 0 || all[i] >= size)
      fail(op, "expected indices from 0 to " + std::to_string(size - 1) + ", got " + std::to_string(all[i]));
}

// For each index along dim, the position of its element in a contiguous tensor of that shape: i64, index's shape.
Tensor positions(const char* op, const Shape& shape, std::int64_t dim, const Tensor& index) {
  const std::size_t d = checked_dim(op, dim, static_cast<std::int64_t>(shape.size()));
  check_indices(op, index, shape[d]);
  bool fits = index.shape().size() == shape.size();
  for (std::size_t i = 0; fits && i < shape.size(); ++i) fits = i == d || index.shape()[i] <= shape[i];
  if (!fits)
    fail(op, "expected indices of the tensor's rank that are not longer than it except along axis " +
                 std::to_string(dim) + ", got indices of shape " + to_string(index.shape()) + " for shape " +
                 to_string(shape));
  const Strides strides = contiguous_strides(shape);
  const Tensor dense = raw::contiguous(index);
  Tensor result = Tensor::empty(index.shape(), DType::i64);
  const auto* from = dense.data<std::int64_t>();
  auto* to = result.mutable_data<std::int64_t>();
  const Shape& sizes = index.shape();
  Context::current().parallel_for(index.numel(), task_elements, [&](std::int64_t begin, std::int64_t end) {
    // The coordinates of element i, and their offset without that of axis d.
    std::vector<std::int64_t> at(sizes.size());
    std::int64_t rest = begin, offset = 0;
    for (std::size_t axis = sizes.size(); axis-- > 0; rest /= sizes[axis]) {
      at[axis] = rest % sizes[axis];
      if (axis != d) offset += at[axis] * strides[axis];
    }
    for (std::int64_t i = begin; i < end; ++i) {
      to[i] = offset + from[i] * strides[d];
      for (std::size_t axis = sizes.size(); axis-- > 0;) {
        const bool is_last = ++at[axis] == sizes[axis];
        if (axis != d) offset += is_last ? (1 - sizes[axis]) * strides[axis] : strides[axis];
        if (!is_last) break;
        at[axis] = 0;
      }
    }
  });
  return result;
}

// The rows of a matrix with these indices (…): (…, columns). Integers have no gradient.
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

// The elements of x at these positions.
Tensor elements(const Tensor& x, const Tensor& positions);

// y = x; y[position_i] += source_i, in the order of i. dx = dy; dsource_i = dy[position_i]
struct ScatterAddOp : Op {
  Tensor positions;
  explicit ScatterAddOp(Tensor where) : positions(std::move(where)) {}
  const char* name() const noexcept override { return "scatter_add"; }
  bool keeps_input(std::size_t, const std::vector<bool>&) const override { return false; }

  Shape shape(const Inputs& in) const override {
    check_floating(name(), in[0]);
    check_same_dtype(name(), in[0], in[1]);
    if (in[1].shape() != positions.shape())
      fail(name(), "expected a source of the indices' shape " + to_string(positions.shape()) + ", got " +
                       to_string(in[1].shape()));
    return in[0].shape();
  }

  Tensor forward(const Inputs& in, const Shape& shape) override {
    Tensor sums = Tensor::empty(shape, computed_of(in[0].dtype()));
    raw::copy(as_dtype(in[0], sums.dtype()), sums);
    const Tensor source = raw::contiguous(as_dtype(in[1], sums.dtype()));
    with_real(name(), sums.dtype(), [&](auto* type) {
      using T = element_of<decltype(type)>;
      T* to = sums.mutable_data<T>();
      const auto* at = positions.data<std::int64_t>();
      for (std::int64_t i = 0; i < source.numel(); ++i) to[at[i]] += source.data<T>()[i];
    });
    return as_dtype(sums, in[0].dtype());
  }

  void backward(Backward& b) const override {
    if (b.needs(0)) b.add(0, b.gradient());
    if (b.needs(1)) b.add(1, elements(b.gradient(), positions));
  }
};

// y_i = x[position_i]. dx: 0, with dy_i added at position_i.
struct ElementsOp : Op {
  Tensor positions;
  explicit ElementsOp(Tensor where) : positions(std::move(where)) {}
  const char* name() const noexcept override { return "gather"; }
  bool keeps_input(std::size_t, const std::vector<bool>&) const override { return false; }
  Shape shape(const Inputs&) const override { return positions.shape(); }

  Tensor forward(const Inputs& in, const Shape& shape) override {
    const Tensor x = raw::contiguous(in[0]);
    Tensor y = Tensor::empty(shape, x.dtype());
    with_floating(name(), x.dtype(), [&](auto* type) {
      using T = element_of<decltype(type)>;
      const T* from = x.data<T>();
      T* to = y.mutable_data<T>();
      const auto* at = positions.data<std::int64_t>();
      Context::current().parallel_for(y.numel(), task_elements, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) to[i] = from[at[i]];
      });
    });
    return y;
  }

  void backward(Backward& b) const override {
    const Tensor zeros = Tensor::zeros(b.input_shape(0), b.gradient().dtype());
    b.add(0, apply_op(ScatterAddOp(positions), zeros, b.gradient()));
  }
};

Tensor elements(const Tensor& x, const Tensor& positions) {
  if (is_floating(x.dtype())) return apply_op(ElementsOp(positions), x);
  if (is_complex(x.dtype())) return complex(elements(real(x), positions), elements(imag(x), positions));
  return reshape(rows_at(reshape(x, {x.numel(), 1}), positions), positions.shape());
}

}  // namespace

Tensor index_select(const Tensor& x, std::int64_t dim, const Tensor& indices) {
  return guard_memory("index_select", [&] {
    if (!x.defined()) fail("index_select", "expected a tensor, got an undefined one");
    const auto d = static_cast<std::int64_t>(checked_dim("index_select", dim, x.rank()));
    check_indices("index_select", indices, x.size(d));
    if (indices.rank() != 1) fail("index_select", "expected indices of shape (k), got " + describe(indices));
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
    return elements(x, positions("gather", x.shape(), dim, index));
  });
}

Tensor scatter_add(const Tensor& x, std::int64_t dim, const Tensor& index, const Tensor& source) {
  return guard_memory("scatter_add", [&] {
    check_floating("scatter_add", x);
    return apply_op(ScatterAddOp(positions("scatter_add", x.shape(), dim, index)), x, source);
  });
}

}  // namespace weft
