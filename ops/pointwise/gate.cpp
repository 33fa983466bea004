// gate ⊙ f(x): the last step of gated linear units and of gMLP's spatial gating.
#include "pointwise/kernels/gate.h"
#include "base/common.h"
#include "base/pointwise.h"
#include "pointwise/records.h"
#include "weft/detail/nest.h"

namespace weft {
using namespace detail;

namespace {

using std::int64_t;

// in: gate, x. y = gate ⊙ f(x). dgate = dy ⊙ f(x), dx = f'(x) (dy ⊙ gate), in one pass.
struct GateOp : Op {
  const char* recorded_as;  // the operation that records this op
  Activation function;
  GateOp(const char* op, Activation f) : recorded_as(op), function(f) {}
  const char* name() const noexcept override { return recorded_as; }
  bool cheap() const override { return true; }
  bool keeps_input(std::size_t i, const std::vector<bool>& needs) const override {
    return needs[1 - i] || (i == 1 && function != Activation::none);
  }
  Shape shape(const Inputs& in) const override { return in[1].shape(); }

  Tensor forward(const Inputs& in, const Shape& shape) override {
    return with_floating(name(), in[0].dtype(), [&](auto* type) {
      using T = element_of<decltype(type)>;
      const Tensor gate = with_contiguous_rows(in[0]), x = raw::contiguous(in[1]);
      Tensor y = Tensor::empty(shape, x.dtype());
      if (y.numel() == 0) return y;
      const auto kernel = kernels<GateKernels<T>>().forward;
      const T *gates = gate.data<T>(), *from = x.data<T>();
      T* to = y.mutable_data<T>();
      Nest<2>(shape, {&gate.strides(), &x.strides()}).for_rows(task_elements, [&](const auto& at, int64_t n) {
        kernel(function, gates + at[0], from + at[1], to + at[1], n);
      });
      return y;
    });
  }

  void backward(Backward& b) const override {
    const Tensor dy = raw::contiguous(b.take_gradient());
    Tensor dx;
    if (b.needs(1)) dx = dy.unique() ? dy : Tensor::empty(dy.shape(), dy.dtype());
    if (b.needs(0))
      b.write(0, [&](Tensor& dgate) {
        if (!dgate.defined() || !has_contiguous_rows(dgate)) dgate = Tensor::empty(dy.shape(), dy.dtype());
        gradients(b, dy, dgate, dx);
      });
    else gradients(b, dy, {}, dx);
    if (dx.defined()) b.add(1, std::move(dx));
  }

 private:
  // Computes dgate and dx, except those that are undefined.
  void gradients(const Backward& b, const Tensor& dy, Tensor dgate, Tensor dx) const {
    if (dy.numel() == 0) return;
    with_floating(name(), dy.dtype(), [&](auto* type) {
      using T = element_of<decltype(type)>;
      const bool needs_x = dgate.defined() || function != Activation::none;
      const Tensor x = needs_x ? raw::contiguous(b.input(1)) : dy;
      const Tensor gate = dx.defined() ? with_contiguous_rows(b.input(0)) : dy;
      const auto kernel = kernels<GateKernels<T>>().backward;
      const T *from = dy.data<T>(), *xs = x.data<T>(), *gates = gate.data<T>();
      T* to_gate = dgate.defined() ? dgate.mutable_data<T>() : nullptr;
      T* to_x = dx.defined() ? dx.mutable_data<T>() : nullptr;
      const Strides& place = to_gate ? dgate.strides() : dy.strides();
      const Nest<3> nest(dy.shape(), {&dy.strides(), &gate.strides(), &place});
      nest.for_rows(task_elements, [&](const auto& at, int64_t n) {
        kernel(function, gates + at[1], xs + at[0], from + at[0], to_gate ? to_gate + at[2] : nullptr,
               to_x ? to_x + at[0] : nullptr, n);
      });
    });
  }
};

}  // namespace

std::unique_ptr<Op> detail::gate_op(const char* name, Activation f) { return std::make_unique<GateOp>(name, f); }

}  // namespace weft
