#include "base/sum.h"

#include <algorithm>

#include "base/common.h"
#include "base/kernels/reduce.h"

namespace weft {
namespace detail {

namespace {

// The number of terms of a row's sum that form one block. The sums of the blocks are then added. This number determines
// the order of the additions, and therefore the result. Larger: threads are idle. Smaller: one more pass over more
// partial sums. bench: weft-bench --benchmark_filter='adamw-clip|add-bias-backward|layer-norm-backward'
constexpr std::int64_t row_block = 1 << 14;
// For a column, the minimum and maximum number of terms in a block. The terms of a block form one chain of additions.
constexpr std::int64_t min_column_block = 64, max_column_block = 512;

// Merges the axes into runs that are alternately kept and summed, and returns the sizes of the runs. The first and the
// last run are always kept, and their size may be 1. Axes of size 1 can belong to any run.
Shape alternating_runs(const Shape& shape, const std::vector<bool>& reduced) {
  Shape runs{1};
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == 1) continue;
    const bool in_summed_run = runs.size() % 2 == 0;
    if (in_summed_run == reduced[i]) runs.back() *= shape[i];
    else runs.push_back(shape[i]);
  }
  if (runs.size() % 2 == 0) runs.push_back(1);
  return runs;
}

// Returns the number of terms in a block. A column's terms form one chain of additions, so its blocks are shorter.
std::int64_t block_length(std::int64_t inner) {
  return inner == 1 ? row_block : std::clamp(row_block / inner, min_column_block, max_column_block);
}

// y (outer, inner) is the sum of x (outer, n, inner) over the middle axis. Both are contiguous. Long sums are split
// into blocks whose length depends only on the shape. The sums of the blocks are summed in the same way.
template <class T>
void sum_middle(const T* x, Computed<T>* y, std::int64_t outer, std::int64_t n, std::int64_t inner) {
  const ReduceKernels<T>& kernel = kernels<ReduceKernels<T>>();
  const std::int64_t block = std::min(n, block_length(inner)), blocks = (n - 1) / block + 1;
  const std::int64_t columns = std::min(inner, std::max<std::int64_t>(1, task_elements / block));
  const std::int64_t pieces = (inner - 1) / columns + 1;
  const std::int64_t tasks_at_once = std::max<std::int64_t>(1, task_elements / block / columns);
  Tensor partial;
  Computed<T>* to = y;
  if (blocks > 1) {
    partial = Tensor::empty({outer, blocks, inner}, dtype_of<Computed<T>>::value);
    to = partial.mutable_data<Computed<T>>();
  }
  Context::current().parallel_for(outer * blocks * pieces, tasks_at_once, [&](std::int64_t begin, std::int64_t end) {
    if (inner == 1 && blocks == 1) return kernel.sum_rows(x + begin * n, to + begin, end - begin, n);
    for (std::int64_t task = begin; task < end; ++task) {
      const std::int64_t first = task % pieces * columns, at = task / pieces % blocks, o = task / pieces / blocks;
      const std::int64_t length = std::min(block, n - at * block), width = std::min(columns, inner - first);
      const T* from = x + (o * n + at * block) * inner + first;
      Computed<T>* sums = to + (o * blocks + at) * inner + first;
      if (inner == 1) kernel.sum_rows(from, sums, 1, length);
      else kernel.sum_columns(from, inner, sums, length, width);
    }
  });
  if (blocks > 1) sum_middle(to, y, outer, blocks, inner);
}

// Sums over the runs one after the other, starting with the innermost one. `width` is the number of real numbers in an
// element: 2 for a complex tensor, otherwise 1.
template <class T>
void sum_runs(const T* x, Shape runs, std::int64_t width, Computed<T>* y) {
  const std::int64_t inner = runs.back() * width, n = runs[runs.size() - 2];
  runs.pop_back();
  runs.pop_back();
  const std::int64_t outer = numel(runs);
  if (runs.size() == 1) return sum_middle(x, y, outer, n, inner);
  Tensor next = Tensor::empty({outer, inner}, dtype_of<Computed<T>>::value);
  auto* sums = next.mutable_data<Computed<T>>();
  sum_middle(x, sums, outer, n, inner);
  runs.back() *= inner / width;
  sum_runs(sums, std::move(runs), width, y);
}

}  // namespace

Tensor sum_axes(const char* op, const Tensor& x, const std::vector<bool>& reduced, const Shape& shape) {
  Tensor y = Tensor::empty(shape, computed_of(x.dtype()));
  if (y.numel() == 0) return y;
  if (x.numel() == 0) {
    raw::fill(y, 0);
    return y;
  }
  const Tensor dense = raw::contiguous(x);
  const Shape runs = alternating_runs(x.shape(), reduced);
  if (runs.size() == 1) {
    Tensor flat = y.view(x.shape(), contiguous_strides(x.shape()), y.offset());
    raw::copy(as_dtype(dense, y.dtype()), flat);
    return y;
  }
  with_floating(op, real_of(x.dtype()), [&](auto* type) {
    using T = element_of<decltype(type)>;
    const auto* from = static_cast<const T*>(dense.raw());
    sum_runs(from, runs, is_complex(x.dtype()) ? 2 : 1, static_cast<Computed<T>*>(y.mutable_raw()));
  });
  return y;
}

}  // namespace detail

Tensor sum_to(const Tensor& g, const Shape& shape) {
  if (g.shape() == shape) return g;
  const std::size_t lead = g.shape().size() - shape.size();
  std::vector<bool> reduced;
  for (std::size_t i = 0; i < g.shape().size(); ++i)
    reduced.push_back(i < lead || (shape[i - lead] == 1 && g.shape()[i] != 1));
  return detail::as_dtype(detail::sum_axes("sum_to", g, reduced, shape), g.dtype());
}

}  // namespace weft
