// add, sub, mul, div with broadcasting.
#include <complex>

#include "pointwise/broadcast.h"
#include "pointwise/kernels/elementwise.h"
#include "pointwise/records.h"
#include "weft/pointwise.h"

namespace weft {
using namespace detail;

namespace {

Tensor broadcast_copy(const Tensor& x, const Shape& shape) {
  return raw::contiguous(x.view(shape, broadcast_strides(x, shape), x.offset()));
}

// y = a op b. y is contiguous and has the broadcast shape. y may be a itself.
template <class T>
void real_binary(const BinaryKernel<T>& kernel, Tensor a, Tensor b, Tensor& y) {
  if (y.numel() == 0) return;
  const Nest<3> nest = broadcast_nest<2>(y.shape(), {&a, &b});
  const std::int64_t sa = nest.strides.back()[0], sb = nest.strides.back()[1];
  const auto function = sa == 0 ? kernel.scalar_left : sb == 0 ? kernel.scalar_right : kernel.both;
  const T *pa = a.data<T>(), *pb = b.data<T>();
  T* py = y.mutable_data<T>();
  nest.for_rows(task_elements,
                [=](const auto& at, std::int64_t n) { function(pa + at[0], pb + at[1], py + at[2], n); });
}

template <class R, class F>
Tensor complex_binary(const Tensor& a, const Tensor& b, const Shape& shape, F f) {
  using C = std::complex<R>;
  Tensor y = Tensor::empty(shape, a.dtype());
  if (y.numel() == 0) return y;
  const Tensor dense_a = broadcast_copy(a, shape), dense_b = broadcast_copy(b, shape);
  const C *pa = dense_a.data<C>(), *pb = dense_b.data<C>();
  C* py = y.mutable_data<C>();
  Context::current().parallel_for(y.numel(), task_elements, [&](auto begin, auto end) {
    for (std::int64_t i = begin; i < end; ++i) py[i] = f(pa[i], pb[i]);
  });
  return y;
}

// (a+bi)(c+di), where each part is computed from two products. std::complex's own multiplication repairs NaNs, which
// costs time.
template <class C>
C product(C a, C b) {
  return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}

// (a+bi)/(c+di) by Smith's method. It first divides by the larger part of the divisor, so that c² + d² can't overflow.
template <class C>
C quotient(C x, C y) {
  const auto c = y.real(), d = y.imag();
  if (std::abs(c) >= std::abs(d)) {
    const auto ratio = d / c, divisor = c + d * ratio;
    return {(x.real() + x.imag() * ratio) / divisor, (x.imag() - x.real() * ratio) / divisor};
  }
  const auto ratio = c / d, divisor = c * ratio + d;
  return {(x.real() * ratio + x.imag()) / divisor, (x.imag() * ratio - x.real()) / divisor};
}

enum class Kind { add, sub, mul, div };

template <class T>
const BinaryKernel<T>& kernel_of(Kind kind) {
  const ElementwiseKernels<T>& table = kernels<ElementwiseKernels<T>>();
  switch (kind) {
    case Kind::add: return table.add;
    case Kind::sub: return table.sub;
    case Kind::mul: return table.mul;
    default: return table.div;
  }
}

template <class R>
Tensor complex_compute(Kind kind, const Tensor& a, const Tensor& b, const Shape& shape) {
  using C = std::complex<R>;
  if (kind == Kind::add) return complex_binary<R>(a, b, shape, [](C x, C y) { return x + y; });
  if (kind == Kind::sub) return complex_binary<R>(a, b, shape, [](C x, C y) { return x - y; });
  if (kind == Kind::mul) return complex_binary<R>(a, b, shape, product<C>);
  return complex_binary<R>(a, b, shape, quotient<C>);
}

// y = a op b, without recording.
Tensor compute(const char* name, Kind kind, const Tensor& a, const Tensor& b, const Shape& shape) {
  if (a.dtype() == DType::c64) return complex_compute<float>(kind, a, b, shape);
  if (a.dtype() == DType::c128) return complex_compute<double>(kind, a, b, shape);
  return with_floating(name, a.dtype(), [&](auto* type) {
    using T = element_of<decltype(type)>;
    Tensor y = Tensor::empty(shape, a.dtype());
    real_binary<T>(kernel_of<T>(kind), a, b, y);
    return y;
  });
}

// Returns dy conj(b). Overwrites dy if no other handle shares it.
Tensor mul_gradient(Tensor dy, const Tensor& b) {
  if (is_complex(b.dtype())) return mul(dy, conj(b));
  if (!dy.unique() || !dy.is_contiguous()) return mul(dy, b);
  with_floating("mul", dy.dtype(), [&](auto* type) {
    using T = element_of<decltype(type)>;
    real_binary<T>(kernels<ElementwiseKernels<T>>().mul, dy, b, dy);
  });
  return dy;
}

Shape checked_shape(const char* name, const Inputs& in) {
  check_same_dtype(name, in[0], in[1]);
  if (!is_floating(in[0].dtype()) && !is_complex(in[0].dtype()))
    fail(name, "expected real or complex operands, got " + describe(in[0]));
  return broadcast_shapes(name, in[0].shape(), in[1].shape());
}

// y = a + b. da = dy, db = dy
struct AddOp : Op {
  const char* name() const noexcept override { return "add"; }
  Shape shape(const Inputs& in) const override { return checked_shape(name(), in); }
  Tensor forward(const Inputs& in, const Shape& shape) override {
    return compute(name(), Kind::add, in[0], in[1], shape);
  }
  bool keeps_input(std::size_t, const std::vector<bool>&) const override { return false; }
  void backward(Backward& b) const override {
    for (std::size_t i : {0, 1})
      if (b.needs(i)) b.add(i, sum_to(b.gradient(), b.input_shape(i)));
  }
};

// y = a - b. da = dy, db = -dy
struct SubOp : Op {
  const char* name() const noexcept override { return "sub"; }
  Shape shape(const Inputs& in) const override { return checked_shape(name(), in); }
  Tensor forward(const Inputs& in, const Shape& shape) override {
    return compute(name(), Kind::sub, in[0], in[1], shape);
  }
  bool keeps_input(std::size_t, const std::vector<bool>&) const override { return false; }
  void backward(Backward& b) const override {
    if (b.needs(0)) b.add(0, sum_to(b.gradient(), b.input_shape(0)));
    if (b.needs(1)) b.add(1, scale(sum_to(b.gradient(), b.input_shape(1)), -1));
  }
};

// y = a b. da = dy conj(b), db = dy conj(a)
struct MulOp : Op {
  const char* name() const noexcept override { return "mul"; }
  Shape shape(const Inputs& in) const override { return checked_shape(name(), in); }
  Tensor forward(const Inputs& in, const Shape& shape) override {
    return compute(name(), Kind::mul, in[0], in[1], shape);
  }
  bool keeps_input(std::size_t i, const std::vector<bool>& needs) const override { return needs[1 - i]; }
  void backward(Backward& b) const override {
    for (std::size_t i : {0, 1}) {
      if (!b.needs(i)) continue;
      const bool last = i == 1 || !b.needs(1);
      Tensor dy = last ? b.take_gradient() : b.gradient();
      const DType dtype = dy.dtype();
      const Shape& shape = b.input_shape(i);
      if (dy.shape() != shape) dy = as_dtype(std::move(dy), computed_of(dtype));  // rounds only the sum
      const Tensor other = as_dtype(b.input(1 - i), dy.dtype());
      b.add(i, as_dtype(sum_to(mul_gradient(std::move(dy), other), shape), dtype));
    }
  }
};

// y = a / b. da = dy / conj(b), db = -dy conj(a / b) / conj(b)
struct DivOp : Op {
  const char* name() const noexcept override { return "div"; }
  Shape shape(const Inputs& in) const override { return checked_shape(name(), in); }
  Tensor forward(const Inputs& in, const Shape& shape) override {
    return compute(name(), Kind::div, in[0], in[1], shape);
  }
  bool keeps_input(std::size_t i, const std::vector<bool>& needs) const override { return i == 1 || needs[1]; }
  void backward(Backward& b) const override {
    const DType dtype = b.gradient().dtype();
    const auto conjugate = [dtype](const Tensor& x) {
      return is_complex(dtype) ? conj(x) : as_dtype(x, computed_of(dtype));
    };
    const Tensor divisor = conjugate(b.input(1)), over = div(as_dtype(b.gradient(), computed_of(dtype)), divisor);
    if (b.needs(0)) b.add(0, as_dtype(sum_to(over, b.input_shape(0)), dtype));
    if (!b.needs(1)) return;
    const Tensor terms = div(mul(over, conjugate(b.input(0))), divisor);
    b.add(1, as_dtype(scale(sum_to(terms, b.input_shape(1)), -1), dtype));
  }
};

}  // namespace

std::unique_ptr<Op> detail::add_op() { return std::make_unique<AddOp>(); }

Tensor add(const Tensor& a, const Tensor& b) { return apply_op(AddOp(), a, b); }
Tensor sub(const Tensor& a, const Tensor& b) { return apply_op(SubOp(), a, b); }
Tensor mul(const Tensor& a, const Tensor& b) { return apply_op(MulOp(), a, b); }
Tensor div(const Tensor& a, const Tensor& b) { return apply_op(DivOp(), a, b); }

}  // namespace weft
