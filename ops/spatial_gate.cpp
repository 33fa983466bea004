// spatial_gate: what gMLP does across the sequence (arXiv 2105.08050, section 2.2), in one product.
#include <algorithm>

#include "common.h"
#include "gemm.h"
#include "kernels/kernels.h"
#include "pointwise.h"

namespace weft {
namespace {

using std::int64_t;

// Sets the elements of w (n, n), contiguous, above the diagonal to 0.
template <class T>
void clear_above_diagonal(Tensor& w) {
  const int64_t n = w.size(0);
  T* data = w.mutable_data<T>();
  for (int64_t i = 0; i < n; ++i) std::fill(data + i * n + i + 1, data + (i + 1) * n, T(0));
}

// gate, x (n, b, d), weight (n, n), bias (n): v_i = Σ_j W_ij x_j + bias_i, y = gate ⊙ v.
// dgate = dy ⊙ v; with dv = dy ⊙ gate: dx_j = Σ_i W_ij dv_i, dW_ij = Σ dv_i x_j and dbias_i = Σ dv_i over b and d.
struct SpatialGateOp : Op {
  bool causal;
  Tensor v;  // kept for dgate, which takes its place
  explicit SpatialGateOp(bool c) : causal(c) {}
  const char* name() const noexcept override { return "spatial_gate"; }

  Shape shape(const Inputs& in) const override {
    const Tensor &gate = in[0], &x = in[1], &weight = in[2], &bias = in[3];
    check_real(name(), x);
    for (const Tensor* t : {&gate, &weight, &bias}) check_same_dtype(name(), x, *t);
    if (x.rank() != 3 || gate.shape() != x.shape())
      fail(name(), "expected gate and x (n, b, d), got " + to_string(gate.shape()) + " and " + to_string(x.shape()));
    const int64_t n = x.size(0);
    if (weight.shape() != Shape{n, n} || bias.shape() != Shape{n})
      fail(name(), "expected weight " + to_string({n, n}) + " and bias " + to_string({n}) + ", got " +
                       to_string(weight.shape()) + " and " + to_string(bias.shape()));
    return x.shape();
  }

  Tensor forward(const Inputs& in, const Shape& shape) override {
    return with_real(name(), in[0].dtype(), [&](auto* type) {
      using T = element_of<decltype(type)>;
      const int64_t n = shape[0], b = shape[1], d = shape[2];
      const Tensor gate = unit_rows(in[0]), x = unit_rows(in[1]), weight = lower(in[2]), bias = raw::contiguous(in[3]);
      Tensor y = Tensor::empty(shape, x.dtype());
      if (recording) v = Tensor::empty(shape, x.dtype());
      GemmProblem<T> g{n, d, n, {weight.data<T>(), weight.strides()[0], weight.strides()[1]}, {}, {}};
      g.a_triangle = causal ? Triangle::lower : Triangle::none;
      g.epilogue.bias = bias.data<T>(), g.epilogue.bias_row = 1;
      g.epilogue.gate_row = gate.strides()[0];
      g.epilogue.preactivation_row = b * d;
      T* to = y.mutable_data<T>();
      for (int64_t i = 0; i < b; ++i) {
        g.b = {x.data<T>() + i * x.strides()[1], x.strides()[0], 1};
        g.c = {to + i * d, b * d, 1};
        g.epilogue.gate = gate.data<T>() + i * gate.strides()[1];
        g.epilogue.preactivation = recording ? v.mutable_data<T>() + i * d : nullptr;
        gemm(g);
      }
      return y;
    });
  }

  // What is needed to differentiate by `needs`: gate for dv, x for dW, the weight for dx.
  bool keeps_input(std::size_t i, const std::vector<bool>& needs) const override {
    if (i == 0) return needs[1] || needs[2] || needs[3];
    return (i == 1 && needs[2]) || (i == 2 && needs[1]);
  }

  void backward(Backward& b) const override {
    with_real(name(), v.dtype(), [&](auto* type) {
      using T = element_of<decltype(type)>;
      const bool wants_dv = b.needs(1) || b.needs(2) || b.needs(3);
      const Tensor dv = gradients<T>(b, wants_dv);
      if (!wants_dv) return;
      const int64_t n = dv.size(0), columns = dv.size(1) * dv.size(2);
      const MatrixView<const T> dv_matrix{dv.data<T>(), columns, 1};
      if (b.needs(2)) {
        const Tensor x = raw::contiguous(b.input(1));
        Tensor dw = Tensor::empty({n, n}, dv.dtype());
        GemmProblem<T> g{n, n, columns, dv_matrix, {x.data<T>(), 1, columns}, {dw.mutable_data<T>(), n, 1}};
        g.c_lower = causal;
        gemm(g);
        if (causal) clear_above_diagonal<T>(dw);
        b.add(2, dw);
      }
      if (b.needs(1)) {
        const Tensor weight = lower(b.input(2));
        Tensor dx = Tensor::empty(dv.shape(), dv.dtype());
        GemmProblem<T> g{n, columns, n, {weight.data<T>(), weight.strides()[1], weight.strides()[0]}, dv_matrix,
                         {dx.mutable_data<T>(), columns, 1}};
        g.a_triangle = causal ? Triangle::upper : Triangle::none;
        gemm(g);
        b.add(1, dx);
      }
      if (b.needs(3)) b.add(3, sum(reshape(dv, {n, columns}), {1}));
    });
  }

 private:
  // Gives dgate to the tape and returns dv, each where it is wanted: over v, which nobody needs any more, and over dy
  // where nobody else holds it.
  template <class T>
  Tensor gradients(Backward& b, bool wants_dv) const {
    const Tensor given = b.take_gradient();
    const bool in_place = given.unique() && given.is_contiguous();
    const Tensor dy = raw::contiguous(given), gate = wants_dv ? unit_rows(b.input(0)) : Tensor();
    Tensor dgate = b.needs(0) ? v : Tensor(), dv;
    if (wants_dv) dv = in_place ? given : Tensor::empty(dy.shape(), dy.dtype());
    const int64_t columns = dy.size(1), d = dy.size(2);
    T *to_gate = dgate.defined() ? dgate.mutable_data<T>() : nullptr, *to_v = wants_dv ? dv.mutable_data<T>() : nullptr;
    const auto multiply = kernels().elementwise.of<T>().mul.both;
    const int64_t rows = std::max<int64_t>(1, pointwise_grain / std::max<int64_t>(1, d));
    Context::current().parallel_for(d == 0 ? 0 : dy.size(0) * columns, rows, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        const T* from = dy.data<T>() + row * d;
        if (to_gate) multiply(from, to_gate + row * d, to_gate + row * d, d);
        if (!to_v) continue;
        const T* by = gate.data<T>() + row / columns * gate.strides()[0] + row % columns * gate.strides()[1];
        multiply(from, by, to_v + row * d, d);
      }
    });
    if (dgate.defined()) b.add(0, dgate);
    return dv;
  }

  // x as it is if its last axis is contiguous.
  static Tensor unit_rows(const Tensor& x) { return x.strides()[2] == 1 ? x : raw::contiguous(x); }

  // W; if causal its lower triangle, the rest 0.
  Tensor lower(const Tensor& weight) const {
    if (!causal) return weight;
    return with_real(name(), weight.dtype(), [&](auto* type) {
      Tensor w = Tensor::empty(weight.shape(), weight.dtype());
      raw::copy(weight, w);
      clear_above_diagonal<element_of<decltype(type)>>(w);
      return w;
    });
  }
};

}  // namespace

Tensor spatial_gate(const Tensor& gate, const Tensor& x, const Tensor& weight, const Tensor& bias, bool causal) {
  return apply(SpatialGateOp(causal), {gate, x, weight, bias});
}

}  // namespace weft
