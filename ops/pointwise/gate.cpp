// gate ⊙ f(x): what the gated linear unit and gMLP's spatial gating end with.
#include <algorithm>

#include "base/common.h"
#include "base/pointwise.h"
#include "pointwise/kernels/activation.h"
#include "pointwise/kernels/elementwise.h"
#include "pointwise/records.h"
#include "weft/detail/nest.h"

namespace weft {
using namespace detail;

namespace {

using std::int64_t;

// Elements that stay in the first-level cache between two kernels: more fall out of it, fewer cost more calls.
// bench: weft-bench --benchmark_filter=gate
constexpr int64_t piece = 2048;

// Calls f(offsets, length) for pieces of contiguous rows of N operands of one shape, N offsets each.
template <std::size_t N, class F>
void for_pieces(const Shape& shape, const std::array<const Strides*, N>& operands, F f) {
  if (numel(shape) == 0) return;
  Nest<N>(shape, operands).for_rows(task_elements, [&](typename Nest<N>::Offsets at, int64_t n) {
    for (int64_t i = 0; i < n; i += piece) {
      f(at, std::min(piece, n - i));
      for (int64_t& offset : at) offset += piece;
    }
  });
}

// (x, y, n): f(x) of n elements: x itself, or y, which then holds it.
template <class T>
auto activated_by(Activation f) {
  const auto forward = kernels<ActivationKernels<T>>().forward;
  return [f, forward](const T* x, T* y, int64_t n) -> const T* {
    if (f == Activation::none) return x;
    forward(f, x, y, n);
    return y;
  };
}

// in: gate, x. y = gate ⊙ f(x). dgate = dy ⊙ f(x), dx = f'(x) (dy ⊙ gate), in one pass.
struct GateOp : Op {
  const char* of;  // the operation that records it
  Activation function;
  GateOp(const char* op, Activation f) : of(op), function(f) {}
  const char* name() const noexcept override { return of; }
  bool cheap() const override { return true; }
  bool keeps_input(std::size_t i, const std::vector<bool>& needs) const override {
    return needs[1 - i] || (i == 1 && function != Activation::none);
  }
  Shape shape(const Inputs& in) const override { return in[1].shape(); }

  Tensor forward(const Inputs& in, const Shape& shape) override {
    return with_real(name(), in[0].dtype(), [&](auto* type) {
      using T = element_of<decltype(type)>;
      const Tensor gate = with_contiguous_rows(in[0]), x = raw::contiguous(in[1]);
      Tensor y = Tensor::empty(shape, x.dtype());
      const auto multiply = kernels<ElementwiseKernels<T>>().mul.both;
      const auto activated = activated_by<T>(function);
      const T *gates = gate.data<T>(), *from = x.data<T>();
      T* to = y.mutable_data<T>();
      for_pieces<2>(shape, {&gate.strides(), &x.strides()}, [&](const auto& at, int64_t n) {
        multiply(gates + at[0], activated(from + at[1], to + at[1], n), to + at[1], n);
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
  // Those of the two that are defined.
  void gradients(const Backward& b, const Tensor& dy, Tensor dgate, Tensor dx) const {
    with_real(name(), dy.dtype(), [&](auto* type) {
      using T = element_of<decltype(type)>;
      const bool needs_x = dgate.defined() || function != Activation::none;
      const Tensor x = needs_x ? raw::contiguous(b.input(1)) : dy;
      const Tensor gate = dx.defined() ? with_contiguous_rows(b.input(0)) : dy;
      const auto multiply = kernels<ElementwiseKernels<T>>().mul.both;
      const auto chain = kernels<ActivationKernels<T>>().backward;
      const auto activated = activated_by<T>(function);
      const T *from = dy.data<T>(), *xs = x.data<T>(), *gates = gate.data<T>();
      T* to_gate = dgate.defined() ? dgate.mutable_data<T>() : nullptr;
      T* to_x = dx.defined() ? dx.mutable_data<T>() : nullptr;
      const Strides& place = to_gate ? dgate.strides() : dy.strides();
      for_pieces<3>(dy.shape(), {&dy.strides(), &gate.strides(), &place}, [&](const auto& at, int64_t n) {
        if (to_gate) multiply(from + at[0], activated(xs + at[0], to_gate + at[2], n), to_gate + at[2], n);
        if (!to_x) return;
        multiply(from + at[0], gates + at[1], to_x + at[0], n);
        if (function != Activation::none) chain(function, xs + at[0], to_x + at[0], to_x + at[0], n);
      });
    });
  }
};

}  // namespace

std::unique_ptr<Op> detail::gate_op(const char* name, Activation f) { return std::make_unique<GateOp>(name, f); }

}  // namespace weft
