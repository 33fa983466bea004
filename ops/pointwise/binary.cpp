// maximum, minimum and powers of tensors, with broadcasting.
#include "pointwise/kernels/binary.h"

#include "pointwise/broadcast.h"
#include "weft/pointwise.h"

namespace weft {
using namespace detail;

namespace {

// An op of two real operands. Backward reads both of them. F has the name and the kernels.
template <class F>
struct BinaryOp : Op {
  const char* name() const noexcept override { return F::name; }
  Shape shape(const Inputs& in) const override {
    check_same_dtype(name(), in[0], in[1]);
    check_floating(name(), in[0]);
    return broadcast_shapes(name(), in[0].shape(), in[1].shape());
  }
  Tensor forward(const Inputs& in, const Shape& shape) override {
    Tensor y = Tensor::empty(shape, in[0].dtype()), a = in[0], b = in[1];
    if (y.numel() == 0) return y;
    with_floating(name(), y.dtype(), [&](auto* type) {
      using T = element_of<decltype(type)>;
      const auto kernel = F::value(kernels<BinaryKernels<T>>());
      const Nest<3> nest = broadcast_nest<2>(shape, {&a, &b});
      const std::int64_t sa = nest.strides.back()[0], sb = nest.strides.back()[1];
      const T *pa = a.data<T>(), *pb = b.data<T>();
      T* py = y.mutable_data<T>();
      nest.for_rows(task_elements,
                    [=](const auto& at, std::int64_t n) { kernel(pa + at[0], sa, pb + at[1], sb, py + at[2], n); });
    });
    return y;
  }
  bool keeps_input(std::size_t, const std::vector<bool>&) const override { return true; }
  void backward(Backward& b) const override {
    for (std::size_t i : {0, 1})
      if (b.needs(i)) b.add(i, gradient(i, b.input(0), b.input(1), b.gradient(), b.input_shape(i)));
  }

 private:
  Tensor gradient(std::size_t i, const Tensor& first, const Tensor& second, const Tensor& gradient,
                  const Shape& operand) const {
    const DType dtype = gradient_dtype(gradient, operand);
    Tensor a = as_dtype(first, dtype), b = as_dtype(second, dtype), dy = raw::contiguous(as_dtype(gradient, dtype));
    Tensor dx = Tensor::empty(dy.shape(), dtype);
    if (dx.numel() > 0)
      with_floating(name(), dtype, [&](auto* type) {
        using T = element_of<decltype(type)>;
        const auto kernel = F::derivative(kernels<BinaryKernels<T>>(), i);
        const Nest<3> nest = broadcast_nest<2>(dx.shape(), {&a, &b});
        const std::int64_t sa = nest.strides.back()[0], sb = nest.strides.back()[1];
        const T *pa = a.data<T>(), *pb = b.data<T>(), *pdy = dy.data<T>();
        T* to = dx.mutable_data<T>();
        nest.for_rows(task_elements, [=](const auto& at, std::int64_t n) {
          kernel(pa + at[0], sa, pb + at[1], sb, pdy + at[2], to + at[2], n);
        });
      });
    return as_dtype(sum_to(dx, operand), gradient.dtype());
  }
};

// y = max(a, b). da = dy where a > b, db = dy where b > a. Where a and b are equal, both are dy/2. Where one is NaN,
// both are dy.
struct Maximum {
  static constexpr const char* name = "maximum";
  static auto value(auto& k) { return k.maximum; }
  static auto derivative(auto& k, std::size_t i) { return i == 0 ? k.larger : k.smaller; }
};

// y = min(a, b), with the rules of maximum
struct Minimum {
  static constexpr const char* name = "minimum";
  static auto value(auto& k) { return k.minimum; }
  static auto derivative(auto& k, std::size_t i) { return i == 0 ? k.smaller : k.larger; }
};

// y = a^b. da = b a^(b-1) dy, db = a^b ln a dy
struct Pow {
  static constexpr const char* name = "pow";
  static auto value(auto& k) { return k.pow; }
  static auto derivative(auto& k, std::size_t i) { return i == 0 ? k.pow_base : k.pow_exponent; }
};

}  // namespace

Tensor maximum(const Tensor& a, const Tensor& b) { return apply_op(BinaryOp<Maximum>(), a, b); }
Tensor minimum(const Tensor& a, const Tensor& b) { return apply_op(BinaryOp<Minimum>(), a, b); }
Tensor pow(const Tensor& x, const Tensor& exponent) { return apply_op(BinaryOp<Pow>(), x, exponent); }

}  // namespace weft
