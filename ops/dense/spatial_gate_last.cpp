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
constexpr int64_t task_work = 1 << 17;
// The number of columns in a task is a multiple of this number.
constexpr int64_t task_columns = 64;

// The number of tokens of the longest text.
int64_t longest(const std::vector<Tensor>& x) {
  int64_t n = 0;
  for (const Tensor& text : x) n = std::max(n, text.shape()[0]);
  return n;
}

void check(const Tensor& gate, const std::vector<Tensor>& x, const Tensor& weight, const Tensor& bias) {
  check_floating(name, gate);
  check_parameter(name, gate, weight, "weight");
  check_parameter(name, gate, bias, "bias");
  if (gate.rank() != 3 || gate.shape()[0] != 1 || gate.shape()[1] != std::ssize(x) || x.empty())
    fail(name, "expected texts >= 1 and a gate of shape (1, texts, d), got texts = " + std::to_string(x.size()) +
                   " and " + describe(gate));
  for (const Tensor& text : x) {
    check_same_dtype(name, gate, text);
    if (text.rank() != 2 || text.shape()[0] < 1 || text.shape()[1] != gate.shape()[2])
      fail(name, "expected an x of shape (n >= 1, " + std::to_string(gate.shape()[2]) + ") for each text, got " +
                     to_string(text.shape()));
  }
  const int64_t n = longest(x);
  if (weight.rank() != 2 || weight.shape()[0] < n || weight.shape()[1] < n || bias.rank() != 1 || bias.shape()[0] < n)
    fail(name, "expected a weight and a bias for at least " + std::to_string(n) + " tokens, got shapes " +
                   to_string(weight.shape()) + " and " + to_string(bias.shape()));
}

// Returns elements first … first + n - 1 of row i of w, contiguous and converted to the dtype.
Tensor part_of_row(const Tensor& w, int64_t i, int64_t n, DType dtype) {
  const Strides& s = w.strides();
  return raw::contiguous(as_dtype(w.view({n}, {s.back()}, w.offset() + i * s.front()), dtype));
}

// What the last token of a text needs.
struct Text {
  Tensor x;       // (n, d) with contiguous rows
  Tensor weight;  // (n): row n - 1 of the weight
  Tensor bias;    // (1): element n - 1 of the bias
};

template <class T>
void run(const Tensor& gate, const std::vector<Text>& all, int64_t most_rows, Tensor& y) {
  const int64_t texts = std::ssize(all), n = gate.shape()[2], gate_row = gate.strides()[1];
  const auto kernel = kernels<SpatialGateKernels<T>>().last;
  const T* gates = gate.data<T>();
  T* to = y.mutable_data<T>();
  // A text's columns are split only if there are more threads than texts, because whole rows are read fastest.
  const int64_t pieces = (Context::current().threads() - 1) / texts + 1;
  const int64_t columns = std::min(n, ((n - 1) / pieces / task_columns + 1) * task_columns);
  const int64_t across = (n - 1) / columns + 1;
  const int64_t grain = std::max<int64_t>(1, task_work / (most_rows * columns));
  Context::current().parallel_for(texts * across, grain, [&](int64_t begin, int64_t end) {
    for (int64_t task = begin; task < end; ++task) {
      const int64_t i = task / across, j = task % across * columns;
      const Text& text = all[static_cast<std::size_t>(i)];
      kernel(std::min(columns, n - j), text.x.shape()[0], text.weight.data<Computed<T>>(),
             *text.bias.data<Computed<T>>(), text.x.data<T>() + j, text.x.strides()[0], gates + i * gate_row + j,
             to + i * n + j);
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
    const DType wide = computed_of(gate.dtype());
    std::vector<Text> texts;
    for (const Tensor& text : x) {
      const int64_t n = text.shape()[0];
      texts.push_back(
          {with_contiguous_rows(text), part_of_row(weight, n - 1, n, wide), part_of_row(bias, n - 1, 1, wide)});
    }
    const Tensor gates = with_contiguous_rows(gate);
    with_floating(name, gate.dtype(),
                  [&](auto* type) { run<element_of<decltype(type)>>(gates, texts, longest(x), y); });
    return y;
  });
}

}  // namespace weft
