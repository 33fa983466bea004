// embedding: rows of a matrix by their indices.
#include <algorithm>
#include <cstring>
#include <numeric>
#include <vector>

#include "base/common.h"
#include "base/indices.h"
#include "pointwise/kernels/elementwise.h"
#include "weft/context.h"
#include "weft/rows.h"

namespace weft {
using namespace detail;

namespace {

// indices (…), weight (v, d): y_i = weight[index_i], (…, d). dweight[r] = sum of dy_i over the i with index_i = r, in
// the order of i. For a bf16 weight the sum is in f32.
struct EmbeddingOp : Op {
  const char* name() const noexcept override { return "embedding"; }
  bool keeps_input(std::size_t i, const std::vector<bool>&) const override { return i == 0; }

  Shape shape(const Inputs& in) const override {
    const Tensor &indices = in[0], &weight = in[1];
    check_indices_dtype(name(), indices);
    check_floating(name(), weight);
    if (weight.rank() != 2) fail(name(), "expected a weight of shape (v, d), got " + describe(weight));
    check_range(name(), raw::contiguous(indices).data<std::int64_t>(), indices.numel(), weight.size(0));
    Shape out = indices.shape();
    out.push_back(weight.size(1));
    return out;
  }

  Tensor forward(const Inputs& in, const Shape& shape) override {
    const Tensor indices = raw::contiguous(in[0]), weight = raw::contiguous(in[1]);
    Tensor y = Tensor::empty(shape, weight.dtype());
    if (y.numel() == 0) return y;
    const auto* index = indices.data<std::int64_t>();
    const auto row = static_cast<std::size_t>(weight.size(1)) * dtype_size(weight.dtype());
    const auto* from = static_cast<const char*>(weight.raw());
    auto* to = static_cast<char*>(y.mutable_raw());
    Context::current().parallel_for(
        indices.numel(), rows_per_task(weight.size(1)), [&](std::int64_t begin, std::int64_t end) {
          for (std::int64_t i = begin; i < end; ++i)
            std::memcpy(to + static_cast<std::size_t>(i) * row, from + static_cast<std::size_t>(index[i]) * row, row);
        });
    return y;
  }

  void backward(Backward& b) const override {
    const Tensor indices = raw::contiguous(b.input(0)), dy = raw::contiguous(b.gradient());
    Tensor dweight = Tensor::zeros(b.input_shape(1), dy.dtype());
    if (dy.numel() > 0) add_rows(indices, dy, dweight);
    b.add(1, dweight);
  }

 private:
  // The positions in `indices`, grouped by row and in ascending order within a row. Elements first[r] … first[r+1]-1 of
  // `position` are the positions whose index is r.
  struct Positions {
    std::vector<std::int64_t> first, position;
  };
  static Positions by_row(const Tensor& indices, std::int64_t rows) {
    const auto* index = indices.data<std::int64_t>();
    const std::int64_t n = indices.numel();
    Positions result{std::vector<std::int64_t>(static_cast<std::size_t>(rows) + 1),
                     std::vector<std::int64_t>(static_cast<std::size_t>(n))};
    for (std::int64_t i = 0; i < n; ++i) ++result.first[static_cast<std::size_t>(index[i]) + 1];
    std::partial_sum(result.first.begin(), result.first.end(), result.first.begin());
    std::vector<std::int64_t> next = result.first;
    for (std::int64_t i = 0; i < n; ++i)
      result.position[static_cast<std::size_t>(next[static_cast<std::size_t>(index[i])]++)] = i;
    return result;
  }

  // Each row of dweight belongs to one task.
  static void add_rows(const Tensor& indices, const Tensor& dy, Tensor& dweight) {
    const std::int64_t rows = dweight.size(0), d = dweight.size(1);
    const Positions positions = by_row(indices, rows);
    const std::int64_t mean_elements = dy.numel() / rows + 1;
    const std::int64_t grain = rows_per_task(mean_elements);
    with_floating("embedding", dy.dtype(), [&](auto* type) {
      using T = element_of<decltype(type)>;
      using C = Computed<T>;
      const auto accumulate = kernels<ElementwiseKernels<T>>().accumulate;
      Tensor wide;  // a row of sums for each task
      if (dy.dtype() == DType::bf16) wide = Tensor::empty({(rows - 1) / grain + 1, d}, DType::f32);
      C* sums = wide.defined() ? wide.mutable_data<C>() : nullptr;
      T* out = dweight.mutable_data<T>();
      const std::int64_t *first = positions.first.data(), *position = positions.position.data();
      Context::current().parallel_for(rows, grain, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t r = begin; r < end; ++r) {
          if (first[r] == first[r + 1]) continue;
          const auto add_to = [&](C* row) {
            for (std::int64_t i = first[r]; i < first[r + 1]; ++i) accumulate(dy.data<T>() + position[i] * d, row, d);
          };
          if constexpr (std::is_same_v<T, C>) {
            add_to(out + r * d);
          } else {
            C* row = sums + begin / grain * d;
            std::fill_n(row, d, C(0));
            add_to(row);
            std::transform(row, row + d, out + r * d, [](C sum) { return T(sum); });
          }
        }
      });
    });
  }
};

}  // namespace

Tensor embedding(const Tensor& indices, const Tensor& weight) { return apply_op(EmbeddingOp(), indices, weight); }

}  // namespace weft
