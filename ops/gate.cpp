// gate ⊙ f(x): what the gated linear unit and gMLP's spatial gating end with.
#include <algorithm>

#include "common.h"
#include "fused_ops.h"
#include "kernels/kernels.h"
#include "weft/context.h"

namespace weft {
namespace {

using std::int64_t;

constexpr int64_t piece = 2048;  // elements that stay in the first-level cache between two kernels

// x (…, n) as a matrix (rows, n).
Tensor matrix_of(const Tensor& x) {
  const int64_t n = x.size(-1);
  return as_rows(x, n == 0 ? 0 : x.numel() / n, n);
}

// Calls f(offset in gate, offset in contiguous tensors of its shape, length) for pieces of the gate's rows.
template <class F>
void for_pieces(const Tensor& gate, F f) {
  const int64_t n = gate.size(1), grain = std::max<int64_t>(1, 8 * piece / std::max<int64_t>(1, n));
  Context::current().parallel_for(gate.size(0), grain, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row)
      for (int64_t i = 0; i < n; i += piece) f(row * gate.strides()[0] + i, row * n + i, std::min(piece, n - i));
  });
}

// in: gate, x. y = gate ⊙ f(x). dgate = dy ⊙ f(x), dx = f'(x) (dy ⊙ gate), in one pass.
struct GateOp : Op {
  Activation function;
  explicit GateOp(Activation f) : function(f) {}
  const char* name() const noexcept override { return "gate"; }
  bool cheap() const override { return true; }

  Shape shape(const Inputs& in) const override {
    check_real(name(), in[0]);
    check_same_dtype(name(), in[0], in[1]);
    if (in[0].shape() != in[1].shape() || in[0].rank() < 1)
      fail(name(), "expected gate and x of one shape (…, n), got " + to_string(in[0].shape()) + " and " +
                       to_string(in[1].shape()));
    return in[0].shape();
  }

  Tensor forward(const Inputs& in, const Shape& shape) override {
    return with_real(name(), in[0].dtype(), [&](auto* type) {
      using T = element_of<decltype(type)>;
      const Tensor gate = matrix_of(in[0]), x = raw::contiguous(in[1]);
      Tensor y = Tensor::empty(shape, x.dtype());
      T* to = y.mutable_data<T>();
      for_pieces(gate, [&](int64_t gate_at, int64_t at, int64_t n) {
        activate(x.data<T>() + at, to + at, n);
        multiply(to + at, gate.data<T>() + gate_at, to + at, n);
      });
      return y;
    });
  }

  void backward(Backward& b) const override {
    const Tensor given = b.take_gradient();
    const bool in_place = given.unique() && given.is_contiguous();
    const Tensor dy = raw::contiguous(given);
    with_real(name(), dy.dtype(), [&](auto* type) {
      using T = element_of<decltype(type)>;
      const bool needs_x = b.needs(0) || function != Activation::none;
      const Tensor x = needs_x ? raw::contiguous(b.input(1)) : dy, gate = matrix_of(b.needs(1) ? b.input(0) : dy);
      Tensor dgate, dx;
      if (b.needs(0)) dgate = Tensor::empty(dy.shape(), dy.dtype());
      if (b.needs(1)) dx = in_place ? given : Tensor::empty(dy.shape(), dy.dtype());
      T* to_gate = dgate.defined() ? dgate.mutable_data<T>() : nullptr;
      T* to_x = dx.defined() ? dx.mutable_data<T>() : nullptr;
      for_pieces(gate, [&](int64_t gate_at, int64_t at, int64_t n) {
        const T* from = dy.data<T>() + at;
        if (to_gate) {
          activate(x.data<T>() + at, to_gate + at, n);
          multiply(from, to_gate + at, to_gate + at, n);
        }
        if (!to_x) return;
        multiply(from, gate.data<T>() + gate_at, to_x + at, n);
        if (function != Activation::none)
          kernels().activation.of<T>().backward(function, x.data<T>() + at, to_x + at, to_x + at, n);
      });
      if (dgate.defined()) b.add(0, dgate);
      if (dx.defined()) b.add(1, dx);
    });
  }

 private:
  template <class T>
  void activate(const T* x, T* y, int64_t n) const {
    if (function == Activation::none) std::copy(x, x + n, y);
    else kernels().activation.of<T>().forward(function, x, y, n);
  }
  template <class T>
  static void multiply(const T* a, const T* b, T* y, int64_t n) { kernels().elementwise.of<T>().mul.both(a, b, y, n); }
};

}  // namespace

std::unique_ptr<Op> gate_op(Activation f) { return std::make_unique<GateOp>(f); }

}  // namespace weft
