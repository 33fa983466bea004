// spatial_gate for the last token only, for texts that grow token by token.
#include <algorithm>

#include "base/common.h"
#include "dense/kernels/spatial_gate.h"
#include "dense/parameters.h"
#include "weft/context.h"
#include "weft/dense.h"
#include "weft/op.h"
#include "weft/tape.h"

namespace weft {
using namespace detail;

namespace {

using std::int64_t;

constexpr const char* name = "spatial_gate_last";

// The number of multiply-adds per task. Larger: threads are idle. Smaller: more overhead per task.
// bench: weft-decode-bench --threads 2
constexpr int64_t task_work = 1 << 16;
// The number of columns in a task is a multiple of this number.
constexpr int64_t task_columns = 64;

void check(const Tensor& gate, const std::vector<Tensor>& x, const Tensor& weight, const Tensor& bias) {
  check_floating(name, gate);
  check_parameter(name, gate, weight, "weight");
  check_parameter(name, gate, bias, "bias");
  if (gate.rank() != 3 || gate.shape()[0] != 1 || gate.shape()[1] != std::ssize(x) || x.empty())
    fail(name, "expected texts >= 1 and a gate of shape (1, texts, d), got texts = " + std::to_string(x.size()) +
                   " and " + describe(gate));
  const Tensor& first = x.front();
  for (const Tensor& text : x) {
    check_same_dtype(name, gate, text);
    if (text.rank() != 2 || text.shape()[0] < 1 || text.shape()[1] != gate.shape()[2] || text.shape() != first.shape())
      fail(name, "expected an x of the same shape (n >= 1, " + std::to_string(gate.shape()[2]) +
                     ") for each text, got " + to_string(first.shape()) + " and " + to_string(text.shape()));
  }
  const int64_t n = first.shape()[0];
  if (weight.rank() != 2 || weight.shape()[0] < n || weight.shape()[1] < n || bias.rank() != 1 || bias.shape()[0] < n)
    fail(name, "expected a weight and a bias for at least " + std::to_string(n) + " tokens, got shapes " +
                   to_string(weight.shape()) + " and " + to_string(bias.shape()));
}

// Returns elements first … first + n - 1 of row i of w, contiguous and converted to the dtype.
Tensor part_of_row(const Tensor& w, int64_t i, int64_t n, DType dtype) {
  const Strides& s = w.strides();
  return raw::contiguous(as_dtype(w.view({n}, {s.back()}, w.offset() + i * s.front()), dtype));
}

template <class T>
void run(const Tensor& gate, const std::vector<Tensor>& x, const Tensor& weight, Computed<T> bias, Tensor& y) {
  const int64_t texts = std::ssize(x), k = x.front().shape()[0], n = gate.shape()[2], gate_row = gate.strides()[1];
  const auto kernel = kernels<SpatialGateKernels<T>>().last;
  const Computed<T>* w = weight.data<Computed<T>>();
  const T* gates = gate.data<T>();
  T* to = y.mutable_data<T>();
  // A text's columns are split only if there are more threads than texts, because whole rows are read fastest.
  const int64_t pieces = (Context::current().threads() - 1) / texts + 1;
  const int64_t columns = std::min(n, ((n - 1) / pieces / task_columns + 1) * task_columns);
  const int64_t across = (n - 1) / columns + 1;
  const int64_t grain = std::max<int64_t>(1, task_work / (k * columns));
  Context::current().parallel_for(texts * across, grain, [&](int64_t begin, int64_t end) {
    for (int64_t task = begin; task < end; ++task) {
      const int64_t text = task / across, j = task % across * columns;
      const Tensor& rows = x[static_cast<std::size_t>(text)];
      kernel(std::min(columns, n - j), k, w, bias, rows.data<T>() + j, rows.strides()[0], gates + text * gate_row + j,
             to + text * n + j);
    }
  });
}

}  // namespace

Tensor spatial_gate_last(const Tensor& gate, const std::vector<Tensor>& x, const Tensor& weight, const Tensor& bias) {
  return run_op(name, [&] {
    check(gate, x, weight, bias);
    const NoGrad suspended;
    Tensor y = Tensor::empty(gate.shape(), gate.dtype());
    if (y.numel() == 0) return y;
    const int64_t n = x.front().shape()[0];
    const DType wide = computed_of(gate.dtype());
    const Tensor row = part_of_row(weight, n - 1, n, wide), last = part_of_row(bias, n - 1, 1, wide);
    std::vector<Tensor> dense;
    const Tensor gates = with_contiguous_rows(gate);
    for (const Tensor& text : x) dense.push_back(with_contiguous_rows(text));
    with_floating(name, gate.dtype(), [&](auto* type) {
      using T = element_of<decltype(type)>;
      run<T>(gates, dense, row, *last.data<Computed<T>>(), y);
    });
    return y;
  });
}

}  // namespace weft
