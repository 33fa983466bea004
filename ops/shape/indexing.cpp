// index_select, gather and scatter_add, which access elements by their indices along an axis.
#include <algorithm>
#include <cstring>

#include "base/indices.h"
#include "base/lines.h"
#include "weft/detail/out_of_memory.h"
#include "weft/pointwise.h"
#include "weft/rows.h"
#include "weft/shape.h"

namespace weft {
using namespace detail;

namespace {

// Indices along an axis of a tensor: element (…, i, …) of the indices chooses the tensor's element (…, index, …).
struct Choice {
  Tensor index;  // contiguous; no axis except `dim` is longer than in the tensor
  std::size_t dim;

  Choice(const char* op, const Shape& shape, std::int64_t axis, const Tensor& indices)
      : dim(checked_dim(op, axis, static_cast<std::int64_t>(shape.size()))) {
    check_indices_dtype(op, indices);
    index = raw::contiguous(indices);
    bool fits = index.shape().size() == shape.size();
    for (std::size_t i = 0; fits && i < shape.size(); ++i) fits = i == dim || index.shape()[i] <= shape[i];
    if (!fits)
      fail(op, "expected indices of the tensor's rank that are not longer than it except along axis " +
                   std::to_string(axis) + ", got indices of shape " + to_string(index.shape()) + " for shape " +
                   to_string(shape));
  }

  // Copies the indices, because the caller may change them before the backward pass.
  void keep() {
    Tensor copy = Tensor::empty(index.shape(), DType::i64);
    raw::copy(index, copy);
    index = copy;
  }

  // Returns the part of x from which the indices can choose. It has the shape of the indices, except along the axis.
  Tensor reachable(const Tensor& x) const {
    Shape shape = index.shape();
    shape[dim] = x.shape()[dim];
    return x.detach().view(shape, x.strides(), x.offset());
  }
};

// y[i] = x[…, index[i], …] for a contiguous x. Each piece of y is a run of one line, or of adjacent lines.
template <class T>
void gather_elements(const Choice& choice, const Tensor& x, Tensor& y) {
  const Lines lines(y.shape(), choice.dim);
  const std::int64_t n = lines.n, inner = lines.inner, size = x.shape()[choice.dim];
  const auto* index = choice.index.data<std::int64_t>();
  T* to = y.mutable_data<T>();
  Context::current().parallel_for(y.numel(), task_elements, [&](std::int64_t begin, std::int64_t end) {
    check_range("gather", index + begin, end - begin, size);
    while (begin < end) {
      const std::int64_t o = begin / (n * inner), k = begin % inner, step = inner == 1 ? 0 : 1;
      const std::int64_t run_end = std::min(end, inner == 1 ? (o + 1) * n : begin - k + inner);
      const T* from = x.data<T>() + o * size * inner + k;
      for (; begin < run_end; ++begin, from += step) to[begin] = from[index[begin] * inner];
    }
  });
}

// y[…, index[i], …] += x[i], in the order of i, for a contiguous y. Each line of y belongs to one task.
template <class T>
void scatter_elements(const Choice& choice, const Tensor& x, Tensor& y) {
  const Lines lines(x.shape(), choice.dim);
  const std::int64_t n = lines.n, inner = lines.inner, size = y.shape()[choice.dim];
  const auto* index = choice.index.data<std::int64_t>();
  T* all = y.mutable_data<T>();
  for_lines(lines, [&](std::int64_t o, std::int64_t k, std::int64_t count) {
    const T* from = x.data<T>() + o * n * inner + k;
    const std::int64_t* at = index + o * n * inner + k;
    T* to = all + o * size * inner + k;
    if (inner == 1) {
      check_range("scatter_add", at, n, size);
      for (std::int64_t i = 0; i < n; ++i) to[at[i]] += from[i];
      return;
    }
    for (std::int64_t i = 0; i < n; ++i, from += inner, at += inner) {
      check_range("scatter_add", at, count, size);
      for (std::int64_t j = 0; j < count; ++j) to[at[j] * inner + j] += from[j];
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

// Returns the chosen elements of x, in the shape of the indices.
Tensor gathered(const Tensor& x, const Choice& choice);

// y = x; y[…, index_i, …] += source_i, in the order of i. dx = dy; dsource_i = dy[…, index_i, …]
struct ScatterAddOp : Op {
  Choice choice;
  explicit ScatterAddOp(Choice c) : choice(std::move(c)) {}
  const char* name() const noexcept override { return "scatter_add"; }
  bool keeps_input(std::size_t, const std::vector<bool>&) const override { return false; }

  Shape shape(const Inputs& in) const override {
    check_floating(name(), in[0]);
    check_same_dtype(name(), in[0], in[1]);
    if (in[1].shape() != choice.index.shape())
      fail(name(), "expected a source of the indices' shape " + to_string(choice.index.shape()) + ", got " +
                       to_string(in[1].shape()));
    return in[0].shape();
  }

  Tensor forward(const Inputs& in, const Shape& shape) override {
    if (recording) choice.keep();
    Tensor sums = Tensor::empty(shape, computed_of(in[0].dtype()));
    raw::copy(as_dtype(in[0], sums.dtype()), sums);
    const Tensor source = raw::contiguous(as_dtype(in[1], sums.dtype()));
    Tensor part = choice.reachable(sums);
    Tensor dense = raw::contiguous(part);
    with_real(name(), sums.dtype(),
              [&](auto* type) { scatter_elements<element_of<decltype(type)>>(choice, source, dense); });
    if (dense.storage() != part.storage()) raw::copy(dense, part);
    return as_dtype(sums, in[0].dtype());
  }

  void backward(Backward& b) const override {
    if (b.needs(0)) b.add(0, b.gradient());
    if (b.needs(1)) b.add(1, gathered(b.gradient(), choice));
  }
};

// y_i = x[…, index_i, …]. dx is 0, with dy_i added at […, index_i, …].
struct GatherOp : Op {
  Choice choice;
  explicit GatherOp(Choice c) : choice(std::move(c)) {}
  const char* name() const noexcept override { return "gather"; }
  bool keeps_input(std::size_t, const std::vector<bool>&) const override { return false; }
  Shape shape(const Inputs&) const override { return choice.index.shape(); }

  Tensor forward(const Inputs& in, const Shape& shape) override {
    if (recording) choice.keep();
    const Tensor x = raw::contiguous(choice.reachable(in[0]));
    Tensor y = Tensor::empty(shape, x.dtype());
    with_floating(name(), x.dtype(), [&](auto* type) { gather_elements<element_of<decltype(type)>>(choice, x, y); });
    return y;
  }

  void backward(Backward& b) const override {
    const Tensor zeros = Tensor::zeros(b.input_shape(0), b.gradient().dtype());
    b.add(0, apply_op(ScatterAddOp(choice), zeros, b.gradient()));
  }
};

Tensor gathered(const Tensor& x, const Choice& choice) {
  if (is_floating(x.dtype())) return apply_op(GatherOp(choice), x);
  if (is_complex(x.dtype())) return complex(gathered(real(x), choice), gathered(imag(x), choice));
  const Tensor dense = raw::contiguous(choice.reachable(x));  // integers have no gradient
  Tensor y = Tensor::empty(choice.index.shape(), x.dtype());
  if (x.dtype() == DType::i64) gather_elements<std::int64_t>(choice, dense, y);
  else gather_elements<std::int8_t>(choice, dense, y);
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
    return gathered(x, Choice("gather", x.shape(), dim, index));
  });
}

Tensor scatter_add(const Tensor& x, std::int64_t dim, const Tensor& index, const Tensor& source) {
  return guard_memory("scatter_add", [&] {
    check_floating("scatter_add", x);
    return apply_op(ScatterAddOp(Choice("scatter_add", x.shape(), dim, index)), x, source);
  });
}

}  // namespace weft
