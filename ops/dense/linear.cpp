// linear: the fully connected layer. The operations of its epilogue run while the tile is in cache.
#include "base/common.h"
#include "base/fused.h"
#include "base/sum.h"
#include "dense/gemm.h"
#include "dense/parameters.h"
#include "pointwise/records.h"
#include "weft/context.h"
#include "weft/dense.h"
#include "weft/detail/out_of_memory.h"
#include "weft/detail/tensor_text.h"
#include "weft/os.h"
#include "weft/pointwise.h"
#include "weft/rows.h"
#include "weft/shape.h"
#include "weft/tape.h"

namespace weft {
using namespace detail;

namespace {

template <class T>
MatrixView<const T> view_of(const Tensor& x) {
  return {x.data<T>(), x.strides()[0], x.strides()[1]};
}

template <class T>
MatrixView<const T> transposed_view_of(const Tensor& x) {
  return {x.data<T>(), x.strides()[1], x.strides()[0]};
}

// y (m, n) = a (m, k) b (k, n)
template <class T>
Tensor product(MatrixView<const GemmIn<T>> a, MatrixView<const GemmIn<T>> b, std::int64_t m, std::int64_t n,
               std::int64_t k) {
  Tensor y = Tensor::empty({m, n}, dtype_of<GemmOut<T>>::value);
  gemm(GemmProblem<T>{m, n, k, a, b, {y.template mutable_data<GemmOut<T>>(), n, 1}});
  return y;
}

// x (…, k), weight (n, k), bias (n), gate and residual (…, n). All tensors except x and weight may be undefined.
struct Operands {
  const Tensor &x, &weight, &bias, &residual;
  Tensor gate = {};
};

constexpr const char* const op_name = "linear";

void check_optional(const Tensor& x, const Tensor& t, const char* what, const Shape& shape) {
  if (!t.defined()) return;
  if (t.dtype() != x.dtype() || t.shape() != shape)
    fail(op_name, std::string("expected ") + what + " to be " + tensor_text(x.dtype(), shape) + ", got " + describe(t));
}

void check_bias(const Tensor& x, const Tensor& bias, const Shape& shape) {
  if (x.dtype() != DType::bf16 || !bias.defined()) return check_optional(x, bias, "bias", shape);
  check_parameter(op_name, x, bias, "bias");
  if (bias.shape() != shape) fail(op_name, "expected bias of shape " + to_string(shape) + ", got " + describe(bias));
}

Tensor rows_of(const Tensor& x) { return x.defined() ? as_rows(x) : x; }

// p = x Wᵀ + b, y = residual + gate ⊙ act(p), in one pass. For the product, W is rounded to x's dtype.
struct LinearPass {
  Activation function = Activation::none;
  Tensor panels = {};  // of the weight, or undefined

  // Returns y's shape.
  Shape shape(const Operands& in) const {
    (void)activation_name(function);
    check_floating(op_name, in.x);
    if (!panels.defined()) check_parameter(op_name, in.x, in.weight, "weight");  // panels have x's dtype
    if (in.x.rank() < 1 || in.weight.rank() != 2 || in.weight.shape()[1] != in.x.size(-1))
      fail(op_name, "expected x of shape (…, in) and weight of shape (out, in), got shapes " + to_string(in.x.shape()) +
                        " and " + to_string(in.weight.shape()));
    Shape out = in.x.shape();
    out.back() = in.weight.shape()[0];
    check_bias(in.x, in.bias, {out.back()});
    check_optional(in.x, in.gate, "gate", out);
    check_optional(in.x, in.residual, "residual", out);
    return out;
  }

  // Unless `preactivation` is undefined, it receives p.
  Tensor run(const Operands& in, const Shape& shape, Tensor preactivation = {}) const {
    return with_floating(op_name, in.x.dtype(), [&](auto* type) {
      using T = element_of<decltype(type)>;
      Tensor y = Tensor::empty(shape, in.x.dtype());
      const Tensor x = as_matrix(in.x);
      const Tensor bias = in.bias.defined() ? raw::contiguous(as_dtype(in.bias, computed_of(x.dtype()))) : in.bias;
      const Tensor gate = rows_of(in.gate), residual = rows_of(in.residual);
      const std::int64_t m = x.shape()[0], k = x.shape()[1], n = in.weight.shape()[0];
      // The weight needs no rounding if it has x's dtype or isn't read.
      const bool is_rounded = in.weight.dtype() == x.dtype() || (panels.defined() && !reads_b(k, n));
      const Tensor weight = is_rounded ? in.weight : as_dtype(in.weight, x.dtype());
      const MatrixView<const T> b = weight.dtype() == x.dtype()
                                        ? transposed_view_of<T>(weight)
                                        : MatrixView<const T>{static_cast<const T*>(weight.raw()), 1, k};
      GemmProblem<T> problem{m, n, k, view_of<T>(x), b, {y.mutable_data<T>(), n, 1}};
      if (panels.defined()) problem.packed_b = panels.data<T>();
      problem.one_chain = true;  // so that panels don't change the result
      problem.epilogue.activation = function;
      if (bias.defined()) {
        problem.epilogue.bias = bias.data<GemmSum<T>>();
        problem.epilogue.bias_column = 1;
      }
      if (gate.defined()) {
        problem.epilogue.gate = gate.data<T>();
        problem.epilogue.gate_row = gate.strides()[0];
      }
      if (residual.defined()) {
        problem.epilogue.residual = residual.data<T>();
        problem.epilogue.residual_row = residual.strides()[0];
      }
      if (preactivation.defined()) {
        problem.epilogue.preactivation = preactivation.mutable_data<T>();
        problem.epilogue.preactivation_row = n;
      }
      gemm(problem);
      return y;
    });
  }

  // Computes y without recording.
  Tensor operator()(const Operands& in) const {
    return detail::run_op(op_name, [&] {
      const Shape y = shape(in);
      const NoGrad suspended;
      return run(in, y);
    });
  }
};

// in: x, weight, bias, residual. y = residual + x Wᵀ + b. dx = dy W, dW = dyᵀ x, db = the sum of dy over rows,
// dresidual = dy. With a bf16 x all tensors are bf16, except that W and b may be f32. The gradients of W and b have the
// dtypes of W and b.
struct LinearOp : Op {
  const char* name() const noexcept override { return op_name; }
  static Operands operands(const Inputs& in) { return {in[0], in[1], in[2], in[3]}; }
  Shape shape(const Inputs& in) const override { return LinearPass().shape(operands(in)); }
  Tensor forward(const Inputs& in, const Shape& shape) override { return LinearPass().run(operands(in), shape); }
  bool keeps_input(std::size_t i, const std::vector<bool>& needs) const override { return i < 2 && needs[1 - i]; }

  void backward(Backward& b) const override {
    const Tensor dy = as_matrix(b.gradient());
    with_floating(name(), dy.dtype(), [&](auto* type) {
      using T = element_of<decltype(type)>;
      const std::int64_t m = dy.shape()[0], n = dy.shape()[1], k = b.input_shape(1)[1];
      if (b.needs(0)) {
        const Tensor weight = as_dtype(b.input(1), dy.dtype());
        b.add(0, reshape(product<T>(view_of<T>(dy), view_of<T>(weight), m, k, n), b.input_shape(0)));
      }
      if (b.needs(1)) {
        const Tensor x = as_matrix(b.input(0));
        const auto dy_t = transposed_view_of<T>(dy);
        if (b.input_dtype(1) == dy.dtype()) b.add(1, product<T>(dy_t, view_of<T>(x), n, k, m));
        else b.add(1, product<WithF32<T>>(dy_t, view_of<T>(x), n, k, m));
      }
    });
    if (b.needs(2)) b.add(2, as_dtype(sum_axes(name(), dy, {true, false}, b.input_shape(2)), b.input_dtype(2)));
    if (b.needs(3)) b.add(3, b.gradient());
  }
};

// Runs the pass and records it as a LinearOp and the operations that follow it: the gate (including act) or act alone,
// and then the residual.
Tensor recorded(const LinearPass& pass, const Operands& in) {
  const Shape shape = pass.shape(in);
  const Tensor none;
  const bool gated = in.gate.defined();
  FusedOp product{std::make_unique<LinearOp>(), {in.x, in.weight, in.bias, none}};
  FusedOp epilogue =
      gated ? FusedOp{gate_op(op_name, pass.function), {in.gate, none}} : FusedOp{activation_op(pass.function), {none}};
  const Operands fused{in.x, in.weight, in.bias, none, in.gate};
  const Tensor y = apply_fused(std::move(product), std::move(epilogue), gated ? 1 : 0, shape, in.x.dtype(),
                               [&](const Tensor& p) { return pass.run(fused, shape, p); });
  return in.residual.defined() ? add(in.residual, y) : y;
}

}  // namespace

Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias, const Epilogue& epilogue) {
  return guard_memory(op_name, [&] {
    if (epilogue.activation == Activation::none && !epilogue.gate.defined())
      return apply_op(LinearOp(), Inputs{x, weight, bias, epilogue.residual});
    const LinearPass pass{epilogue.activation};
    const Operands in{x, weight, bias, epilogue.residual, epilogue.gate};
    return would_record({x, weight, bias, epilogue.residual, epilogue.gate}) ? recorded(pass, in) : pass(in);
  });
}

PackedWeight::PackedWeight(const Tensor& weight) : PackedWeight(weight, weight.dtype()) {}

PackedWeight::PackedWeight(const Tensor& weight, DType dtype) : isa_(Context::current().isa()) {
  check_floating("PackedWeight", weight);
  if (weight.rank() != 2) fail("PackedWeight", "expected a weight of shape (out, in), got " + describe(weight));
  const bool converts =
      weight.dtype() == DType::bf16 ? dtype == DType::f32 : dtype == DType::bf16 && weight.dtype() == DType::f32;
  if (dtype != weight.dtype() && !converts)
    fail("PackedWeight",
         std::string("x can't have dtype ") + dtype_name(dtype) + " if the weight is " + describe(weight));
  weight_ = weight.detach();
  version_ = weight.version();
  with_floating("PackedWeight", dtype, [&](auto* type) {
    using T = element_of<decltype(type)>;
    const std::int64_t n = weight.shape()[0], k = weight.shape()[1];
    guard_memory("PackedWeight", [&] {
      const Tensor rounded = as_dtype(weight_, dtype);
      panels_ = Tensor::empty({panel_layout<T>(k, n).elements()}, dtype);
      T* panels = panels_.mutable_data<T>();
      os::small_pages_at_end(panels, static_cast<std::size_t>(panels_.numel()) * sizeof(T));
      pack_b(k, n, transposed_view_of<T>(rounded), panels);
    });
  });
}

Tensor packed_linear(const Tensor& x, const PackedWeight& packed, const Tensor& bias, const Epilogue& epilogue) {
  return guard_memory("packed_linear", [&] {
    if (!packed.is_current()) fail("packed_linear", "the weight was written after it was packed");
    Tensor weight = packed.weight();
    LinearPass pass{epilogue.activation};
    const bool records = would_record({x, weight, bias, epilogue.gate, epilogue.residual});
    if (!records && packed.isa() == Context::current().isa() && packed.dtype() == x.dtype())
      pass.panels = packed.panels_;
    else if (packed.dtype() == DType::f32) weight = as_dtype(weight, DType::f32);  // for a bf16 weight and an f32 x
    if (records) return linear(x, weight, bias, epilogue);
    return pass({x, weight, bias, epilogue.residual, epilogue.gate});
  });
}

}  // namespace weft
