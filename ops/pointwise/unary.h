// The base class of operations on one real tensor whose kernels belong to the family "unary".
#pragma once
#include <utility>

#include "base/pointwise.h"
#include "pointwise/kernels/unary.h"

namespace weft::detail {

struct UnaryOp : Op {
  Shape shape(const Inputs& in) const override {
    check_floating(name(), in[0]);
    return in[0].shape();
  }

 protected:
  // choice(kernels of T) selects the kernel.
  template <class Choice>
  Tensor map(const Tensor& x, Choice choice) const {
    return with_floating(name(), x.dtype(), [&](auto* type) {
      using T = element_of<decltype(type)>;
      return pointwise<T>(choice(kernels<UnaryKernels<T>>()), x);
    });
  }
  template <class Choice>
  Tensor map_backward(const Tensor& kept, Tensor dy, Choice choice) const {
    return with_floating(name(), dy.dtype(), [&](auto* type) {
      using T = element_of<decltype(type)>;
      return pointwise_backward<T>(choice(kernels<UnaryKernels<T>>()), kept, std::move(dy));
    });
  }
};

}  // namespace weft::detail
