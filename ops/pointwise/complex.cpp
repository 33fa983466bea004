// complex, real, imag, conj, abs, angle. The gradient of a complex z = a + bi is dL/da + i dL/db.
#include "pointwise/complex.h"

#include <cmath>
#include <complex>

#include "base/pointwise.h"
#include "weft/pointwise.h"

namespace weft {
using namespace detail;

namespace {

// Calls f with a null pointer to the real type of a complex dtype. Throws an Error for other dtypes.
template <class F>
auto with_parts(const char* op, const Tensor& x, F f) {
  if (!x.defined() || !is_complex(x.dtype())) fail(op, "expected a c64 or c128 tensor, got " + describe(x));
  return with_real(op, real_of(x.dtype()), f);
}

template <class F>
void for_elements(std::int64_t n, F f) {
  Context::current().parallel_for(n, task_elements, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) f(i);
  });
}

// Returns re + i im. An undefined part stands for 0.
Tensor joined(const char* op, const Tensor& re, const Tensor& im) {
  const Tensor& part = re.defined() ? re : im;
  Tensor y = Tensor::empty(part.shape(), complex_of(part.dtype()));
  with_real(op, part.dtype(), [&](auto* type) {
    using T = element_of<decltype(type)>;
    const Tensor a = re.defined() ? raw::contiguous(re) : re, b = im.defined() ? raw::contiguous(im) : im;
    const T *pa = a.defined() ? a.data<T>() : nullptr, *pb = b.defined() ? b.data<T>() : nullptr;
    auto* to = y.mutable_data<std::complex<T>>();
    for_elements(y.numel(), [=](std::int64_t i) { to[i] = {pa ? pa[i] : T(0), pb ? pb[i] : T(0)}; });
  });
  return y;
}

// Applies f to every element of x. `dtype` is the dtype of the results: x's dtype, or the dtype of its parts.
template <class F>
Tensor map_complex(const char* op, const Tensor& x, DType dtype, F f) {
  Tensor y = Tensor::empty(x.shape(), dtype);
  with_parts(op, x, [&](auto* type) {
    using T = element_of<decltype(type)>;
    using Out = decltype(f(std::complex<T>()));
    const Tensor dense = raw::contiguous(x);
    const auto* from = dense.data<std::complex<T>>();
    Out* to = y.mutable_data<Out>();
    for_elements(y.numel(), [=](std::int64_t i) { to[i] = f(from[i]); });
  });
  return y;
}

// An op of one complex tensor whose backward needs only dy.
struct PartsOp : Op {
  Shape shape(const Inputs& in) const override {
    return with_parts(name(), in[0], [&](auto*) { return in[0].shape(); });
  }
  bool keeps_input(std::size_t, const std::vector<bool>&) const override { return false; }
};

// y = re + i im. d re = Re dy, d im = Im dy
struct ComplexOp : Op {
  const char* name() const noexcept override { return "complex"; }
  Shape shape(const Inputs& in) const override {
    check_same_dtype(name(), in[0], in[1]);
    check_real(name(), in[0]);
    if (in[0].shape() != in[1].shape())
      fail(name(), "expected a real and an imaginary part of the same shape, got " + describe(in[0]) + " and " +
                       describe(in[1]));
    return in[0].shape();
  }
  Tensor forward(const Inputs& in, const Shape&) override { return joined(name(), in[0], in[1]); }
  bool keeps_input(std::size_t, const std::vector<bool>&) const override { return false; }
  void backward(Backward& b) const override {
    if (b.needs(0)) b.add(0, real(b.gradient()));
    if (b.needs(1)) b.add(1, imag(b.gradient()));
  }
};

// y = Re x. dx = dy
struct RealOp : PartsOp {
  const char* name() const noexcept override { return "real"; }
  Tensor forward(const Inputs& in, const Shape&) override {
    return map_complex(name(), in[0], real_of(in[0].dtype()), [](auto z) { return z.real(); });
  }
  void backward(Backward& b) const override { b.add(0, joined(name(), b.gradient(), {})); }
};

// y = Im x. dx = i dy
struct ImagOp : PartsOp {
  const char* name() const noexcept override { return "imag"; }
  Tensor forward(const Inputs& in, const Shape&) override {
    return map_complex(name(), in[0], real_of(in[0].dtype()), [](auto z) { return z.imag(); });
  }
  void backward(Backward& b) const override { b.add(0, joined(name(), {}, b.gradient())); }
};

// y = Re x - i Im x. dx = conj(dy)
struct ConjOp : PartsOp {
  const char* name() const noexcept override { return "conj"; }
  Tensor forward(const Inputs& in, const Shape&) override {
    return map_complex(name(), in[0], in[0].dtype(), [](auto z) { return std::conj(z); });
  }
  void backward(Backward& b) const override { b.add(0, conj(b.gradient())); }
};

// An op of one complex tensor z with a real result. dz = dy · slope(z). The derived op defines the complex slope.
template <class Derived>
struct RealValuedOp : Op {
  Shape shape(const Inputs& in) const override {
    return with_parts(name(), in[0], [&](auto*) { return in[0].shape(); });
  }
  Tensor forward(const Inputs& in, const Shape&) override {
    return map_complex(name(), in[0], real_of(in[0].dtype()), [](auto z) { return Derived::value(z); });
  }
  bool keeps_input(std::size_t, const std::vector<bool>&) const override { return true; }
  void backward(Backward& b) const override {
    const Tensor z = b.input(0);
    const Tensor slope = map_complex(name(), z, z.dtype(), [](auto x) { return Derived::slope(x); });
    b.add(0, mul(slope, raw::convert(b.gradient(), z.dtype())));
  }
};

// y = |z|. dz = dy z / |z|, 0 at 0
struct ComplexAbsOp : RealValuedOp<ComplexAbsOp> {
  const char* name() const noexcept override { return "abs"; }
  template <class C>
  static auto value(C z) {
    return std::hypot(z.real(), z.imag());
  }
  template <class C>
  static C slope(C z) {
    const auto size = value(z);
    return size == 0 ? C() : C(z.real() / size, z.imag() / size);
  }
};

// y = arg z in [-π, π], arg 0 = 0. dz = dy i z / |z|², 0 at 0
struct AngleOp : RealValuedOp<AngleOp> {
  const char* name() const noexcept override { return "angle"; }
  template <class C>
  static auto value(C z) {
    return std::atan2(z.imag(), z.real());
  }
  template <class C>
  static C slope(C z) {
    const auto size = std::hypot(z.real(), z.imag());
    return size == 0 ? C() : C(-z.imag() / size / size, z.real() / size / size);
  }
};

}  // namespace

Tensor detail::complex_abs(const Tensor& x) { return apply_op(ComplexAbsOp(), x); }
Tensor angle(const Tensor& x) { return apply_op(AngleOp(), x); }
Tensor complex(const Tensor& re, const Tensor& im) { return apply_op(ComplexOp(), re, im); }
Tensor real(const Tensor& x) { return apply_op(RealOp(), x); }
Tensor imag(const Tensor& x) { return apply_op(ImagOp(), x); }
Tensor conj(const Tensor& x) { return apply_op(ConjOp(), x); }

}  // namespace weft
