// sign, and functions of one real tensor that have kernels for the value and for f'(x) dy, such as abs, sin and erf.
#include "pointwise/complex.h"
#include "pointwise/unary.h"
#include "weft/pointwise.h"

namespace weft {
using namespace detail;

namespace {

// y = f(x). dx = f'(x) dy. F has the name of f and its kernels.
template <class F>
struct FunctionOp : UnaryOp {
  const char* name() const noexcept override { return F::name; }
  Tensor forward(const Inputs& in, const Shape&) override {
    return map(in[0], [](auto& k) { return F::value(k); });
  }
  bool cheap() const override { return true; }
  bool keeps_input(std::size_t, const std::vector<bool>&) const override { return true; }
  void backward(Backward& b) const override {
    b.add(0, map_backward(b.input(0), b.take_gradient(), [](auto& k) { return F::derivative(k); }));
  }
};

struct Abs {
  static constexpr const char* name = "abs";
  static auto value(auto& k) { return k.abs; }
  static auto derivative(auto& k) { return k.abs_backward; }
};
struct Cos {
  static constexpr const char* name = "cos";
  static auto value(auto& k) { return k.cos; }
  static auto derivative(auto& k) { return k.cos_backward; }
};
struct Erf {
  static constexpr const char* name = "erf";
  static auto value(auto& k) { return k.erf; }
  static auto derivative(auto& k) { return k.erf_backward; }
};
struct Expm1 {
  static constexpr const char* name = "expm1";
  static auto value(auto& k) { return k.expm1; }
  static auto derivative(auto& k) { return k.expm1_backward; }
};
struct Log1p {
  static constexpr const char* name = "log1p";
  static auto value(auto& k) { return k.log1p; }
  static auto derivative(auto& k) { return k.log1p_backward; }
};
struct Reciprocal {
  static constexpr const char* name = "reciprocal";
  static auto value(auto& k) { return k.reciprocal; }
  static auto derivative(auto& k) { return k.reciprocal_backward; }
};
struct Rsqrt {
  static constexpr const char* name = "rsqrt";
  static auto value(auto& k) { return k.rsqrt; }
  static auto derivative(auto& k) { return k.rsqrt_backward; }
};
struct Sin {
  static constexpr const char* name = "sin";
  static auto value(auto& k) { return k.sin; }
  static auto derivative(auto& k) { return k.sin_backward; }
};
struct Softplus {
  static constexpr const char* name = "softplus";
  static auto value(auto& k) { return k.softplus; }
  static auto derivative(auto& k) { return k.softplus_backward; }
};

// y = sign x. dx = 0
struct SignOp : UnaryOp {
  const char* name() const noexcept override { return "sign"; }
  Tensor forward(const Inputs& in, const Shape&) override {
    return map(in[0], [](auto& k) { return k.sign; });
  }
  bool cheap() const override { return true; }
  bool keeps_input(std::size_t, const std::vector<bool>&) const override { return false; }
  void backward(Backward& b) const override { b.add(0, Tensor::zeros(b.input_shape(0), b.input_dtype(0))); }
};

}  // namespace

Tensor abs(const Tensor& x) {
  return x.defined() && is_complex(x.dtype()) ? complex_abs(x) : apply_op(FunctionOp<Abs>(), x);
}
Tensor cos(const Tensor& x) { return apply_op(FunctionOp<Cos>(), x); }
Tensor erf(const Tensor& x) { return apply_op(FunctionOp<Erf>(), x); }
Tensor expm1(const Tensor& x) { return apply_op(FunctionOp<Expm1>(), x); }
Tensor log1p(const Tensor& x) { return apply_op(FunctionOp<Log1p>(), x); }
Tensor reciprocal(const Tensor& x) { return apply_op(FunctionOp<Reciprocal>(), x); }
Tensor rsqrt(const Tensor& x) { return apply_op(FunctionOp<Rsqrt>(), x); }
Tensor sign(const Tensor& x) { return apply_op(SignOp(), x); }
Tensor sin(const Tensor& x) { return apply_op(FunctionOp<Sin>(), x); }
Tensor softplus(const Tensor& x) { return apply_op(FunctionOp<Softplus>(), x); }

}  // namespace weft
