// matmul: numpy's matrix product, including vectors and broadcast batches.
#include <algorithm>

#include "dense/contract.h"
#include "weft/dense.h"

namespace weft {
using namespace detail;

namespace {

enum Label { row, column, inner, batch };  // batch + i: the i-th batch axis, counted backward from the last one

// Returns the labels of an operand of rank >= 2: its batch axes, followed by those of the matrix. An empty `matrix`
// gives the labels of the batch alone.
Labels operand_labels(std::int64_t rank, Labels matrix) {
  Labels labels;
  for (std::int64_t axis = rank - 3; axis >= 0; --axis) labels.push_back(batch + static_cast<int>(axis));
  labels.insert(labels.end(), matrix.begin(), matrix.end());
  return labels;
}

Labels left_labels(const Shape& a) {
  return a.size() == 1 ? Labels{inner} : operand_labels(static_cast<std::int64_t>(a.size()), {row, inner});
}
Labels right_labels(const Shape& b) {
  return b.size() == 1 ? Labels{inner} : operand_labels(static_cast<std::int64_t>(b.size()), {inner, column});
}

Labels result_labels(const Shape& a, const Shape& b) {
  Labels labels = operand_labels(static_cast<std::int64_t>(std::max(a.size(), b.size())), {});
  if (a.size() > 1) labels.push_back(row);
  if (b.size() > 1) labels.push_back(column);
  return labels;
}

// y (…, m, n) = a (…, m, k) b (…, k, n). da = dy conj(b)ᵀ and db = conj(a)ᵀ dy, both summed over broadcast batch axes.
struct MatmulOp : Op {
  const char* name() const noexcept override { return "matmul"; }

  Shape shape(const Inputs& in) const override {
    check_same_dtype(name(), in[0], in[1]);
    const Shape &a = in[0].shape(), &b = in[1].shape();
    if (!is_floating(in[0].dtype()) && !is_complex(in[0].dtype()))
      fail(name(), "expected real or complex operands, got " + describe(in[0]));
    const std::size_t k_axis = b.size() > 1 ? b.size() - 2 : 0;
    if (a.empty() || b.empty() || a.back() != b[k_axis])
      fail(name(), "expected operands of shapes (…, m, k) and (…, k, n), got " + to_string(a) + " and " + to_string(b));
    const auto lead = [](const Shape& s) { return s.size() < 2 ? Shape{} : Shape(s.begin(), s.end() - 2); };
    Shape out = broadcast_shapes(name(), lead(a), lead(b));
    if (a.size() > 1) out.push_back(a[a.size() - 2]);
    if (b.size() > 1) out.push_back(b.back());
    (void)numel(out);
    return out;
  }

  Tensor forward(const Inputs& in, const Shape&) override {
    const Shape &a = in[0].shape(), &b = in[1].shape();
    return contract({in[0], left_labels(a)}, {in[1], right_labels(b)}, result_labels(a, b));
  }

  bool keeps_input(std::size_t i, const std::vector<bool>& needs) const override { return needs[1 - i]; }

  void backward(Backward& b) const override {
    const Labels labels[] = {left_labels(b.input_shape(0)), right_labels(b.input_shape(1))};
    const Labeled dy{b.gradient(), result_labels(b.input_shape(0), b.input_shape(1))};
    for (std::size_t i : {0, 1})
      if (b.needs(i)) b.add(i, contract_gradient(dy, {b.input(1 - i), labels[1 - i]}, labels[i], b.input_shape(i)));
  }
};

}  // namespace

Tensor matmul(const Tensor& a, const Tensor& b) { return apply_op(MatmulOp(), a, b); }

}  // namespace weft
