// spatial_gate: gMLP mixes tokens across the sequence (arXiv 2105.08050, section 2.2). One product computes the mixing.
#include <algorithm>

#include "base/common.h"
#include "base/fused.h"
#include "base/sum.h"
#include "dense/gemm.h"
#include "dense/packing.h"
#include "dense/parameters.h"
#include "pointwise/records.h"
#include "weft/context.h"
#include "weft/dense.h"
#include "weft/detail/out_of_memory.h"
#include "weft/rows.h"
#include "weft/shape.h"

namespace weft {
using namespace detail;

namespace {

using std::int64_t;

// If a text takes at most this number of multiply-adds, each text is a task, provided that there is at least one text
// for each thread. Otherwise, the threads share the work on each text. Both ways give the same bits.
// bench: weft-step-bench --model gmlp --d-model 128 --batch 12 --seq-len 64
constexpr int64_t small_text = 1 << 24;

// Sets the elements above the diagonal of w (n, n) to 0. w is contiguous.
template <class T>
void clear_above_diagonal(Tensor& w) {
  const int64_t n = w.size(0);
  T* data = w.mutable_data<T>();
  for (int64_t i = 0; i < n; ++i) std::fill(data + i * n + i + 1, data + (i + 1) * n, T(0));
}

// Returns W with elements of type T. If causal, returns the lower triangle of W with zeros above it.
template <class T>
Tensor used_weight(const Tensor& weight, bool causal) {
  Tensor same = as_dtype(weight, dtype_of<T>::value);
  if (!causal) return same;
  Tensor w = Tensor::empty(weight.shape(), same.dtype());
  raw::copy(same, w);
  clear_above_diagonal<T>(w);
  return w;
}

void check(const Tensor& gate, const Tensor& x, const Tensor& weight, const Tensor& bias) {
  constexpr const char* name = "spatial_gate";
  check_floating(name, x);
  check_same_dtype(name, x, gate);
  check_parameter(name, x, weight, "weight");
  check_parameter(name, x, bias, "bias");
  if (x.rank() != 3 || gate.shape() != x.shape())
    fail(name, "expected gate and x of the same shape (n, b, d), got " + to_string(gate.shape()) + " and " +
                   to_string(x.shape()));
  const int64_t n = x.size(0);
  if (weight.shape() != Shape{n, n} || bias.shape() != Shape{n})
    fail(name, "expected weight of shape " + to_string({n, n}) + " and bias of shape " + to_string({n}) + ", got " +
                   to_string(weight.shape()) + " and " + to_string(bias.shape()));
}

// v_i = Σ_j W_ij x_j + bias_i and y = gate ⊙ v, in one pass. Returns y. Writes v into `between` unless `between` is
// undefined. Without a gate, y is v.
template <class T>
Tensor mixed(const Tensor& gate, const Tensor& x, const Tensor& weight, const Tensor& bias, bool causal,
             Tensor between) {
  const int64_t n = x.size(0), b = x.size(1), d = x.size(2);
  const Tensor gate_rows = gate.defined() ? with_contiguous_rows(gate) : gate, rows = with_contiguous_rows(x);
  const Tensor w = used_weight<T>(weight, causal), dense_bias = raw::contiguous(as_dtype(bias, computed_of(x.dtype())));
  Tensor y = Tensor::empty(x.shape(), x.dtype());
  GemmProblem<T> g{n, d, n, {w.data<T>(), w.strides()[0], w.strides()[1]}, {}, {}};
  g.a_triangle = causal ? Triangle::lower : Triangle::none;
  g.epilogue.bias = dense_bias.data<GemmSum<T>>();
  g.epilogue.bias_row = 1;
  g.epilogue.preactivation_row = b * d;
  if (gate.defined()) g.epilogue.gate_row = gate_rows.strides()[0];
  T *y_data = y.mutable_data<T>(), *between_data = between.defined() ? between.mutable_data<T>() : nullptr;
  const auto texts = [&](int64_t begin, int64_t end) {
    GemmProblem<T> text = g;
    for (int64_t i = begin; i < end; ++i) {
      text.b = {rows.data<T>() + i * rows.strides()[1], rows.strides()[0], 1};
      text.c = {y_data + i * d, b * d, 1};
      if (gate.defined()) text.epilogue.gate = gate_rows.data<T>() + i * gate_rows.strides()[1];
      if (between_data) text.epilogue.preactivation = between_data + i * d;
      gemm(text);
    }
  };
  if (n * n * d <= small_text && b >= Context::current().threads())
    Context::current().parallel_for(b, std::max<int64_t>(1, task_work / std::max<int64_t>(1, n * n * d)), texts);
  else texts(0, b);
  return y;
}

// in: x (n, b, d), weight, bias. v_i = Σ_j W_ij x_j + bias_i.
// dx_j = Σ_i W_ij dv_i. dW_ij = Σ dv_i x_j and dbias_i = Σ dv_i, summed over b and d. The dtypes follow the rules of
// linear.
struct SpatialMixOp : Op {
  bool causal;
  explicit SpatialMixOp(bool c) : causal(c) {}
  const char* name() const noexcept override { return "spatial_gate"; }
  Shape shape(const Inputs& in) const override { return in[0].shape(); }
  Tensor forward(const Inputs& in, const Shape&) override {
    return with_floating(name(), in[0].dtype(), [&](auto* type) {
      return mixed<element_of<decltype(type)>>({}, in[0], in[1], in[2], causal, {});
    });
  }
  bool keeps_input(std::size_t i, const std::vector<bool>& needs) const override { return i < 2 && needs[1 - i]; }

  void backward(Backward& b) const override {
    const Tensor dv = raw::contiguous(b.take_gradient());
    const int64_t n = dv.size(0), columns = dv.size(1) * dv.size(2);
    with_floating(name(), dv.dtype(), [&](auto* type) {
      using T = element_of<decltype(type)>;
      const MatrixView<const T> dv_matrix{dv.data<T>(), columns, 1};
      if (b.needs(1)) {
        const Tensor x = raw::contiguous(b.input(0));
        const MatrixView<const T> x_t{x.data<T>(), 1, columns};
        const bool same = b.input_dtype(1) == dv.dtype();
        b.add(1, same ? weight_gradient<T>(dv_matrix, x_t, n, columns)
                      : weight_gradient<WithF32<T>>(dv_matrix, x_t, n, columns));
      }
      if (b.needs(0)) {
        const Tensor w = used_weight<T>(b.input(1), causal);
        Tensor dx = Tensor::empty(dv.shape(), dv.dtype());
        GemmProblem<T> g{n,         columns,
                         n,         {w.data<T>(), w.strides()[1], w.strides()[0]},
                         dv_matrix, {dx.mutable_data<T>(), columns, 1}};
        g.a_triangle = causal ? Triangle::upper : Triangle::none;
        gemm(g);
        b.add(0, std::move(dx));
      }
    });
    if (b.needs(2)) b.add(2, as_dtype(sum_axes(name(), dv, {false, true, true}, b.input_shape(2)), b.input_dtype(2)));
  }

  // Returns the product of dv (n, columns) and xᵀ (columns, n).
  template <class T>
  Tensor weight_gradient(MatrixView<const GemmIn<T>> dv, MatrixView<const GemmIn<T>> x_t, int64_t n,
                         int64_t columns) const {
    using Out = GemmOut<T>;
    Tensor dw = Tensor::empty({n, n}, dtype_of<Out>::value);
    GemmProblem<T> g{n, n, columns, dv, x_t, {dw.template mutable_data<Out>(), n, 1}};
    g.c_lower = causal;
    gemm(g);
    if (causal) clear_above_diagonal<Out>(dw);
    return dw;
  }
};

}  // namespace

Tensor spatial_gate(const Tensor& gate, const Tensor& x, const Tensor& weight, const Tensor& bias, bool causal) {
  return guard_memory("spatial_gate", [&] {
    check(gate, x, weight, bias);
    FusedOp mix{std::make_unique<SpatialMixOp>(causal), {x, weight, bias}};
    FusedOp product{gate_op("spatial_gate", Activation::none), {gate, Tensor()}};
    return apply_fused(std::move(mix), std::move(product), 1, x.shape(), x.dtype(), [&](const Tensor& v) {
      return with_floating("spatial_gate", x.dtype(), [&](auto* type) {
        return mixed<element_of<decltype(type)>>(gate, x, weight, bias, causal, v);
      });
    });
  });
}

}  // namespace weft
