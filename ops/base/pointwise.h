// Runs kernels over whole arrays: y[i] = f(x0[i], x1[i], …).
#pragma once
#include "base/common.h"
#include "weft/context.h"

namespace weft::detail {

// Calls kernel(x0, x1, …, y, n) for pieces of dense arrays with the same shape.
template <class T, class Kernel, class... X>
void pointwise(Kernel kernel, Tensor& y, const X&... x) {
  T* to = y.mutable_data<T>();
  Context::current().parallel_for(y.numel(), task_elements, [&](std::int64_t begin, std::int64_t end) {
    kernel(x.template data<T>() + begin..., to + begin, end - begin);
  });
}

// Applies the kernel to x, and returns the result as a new tensor in row-major order.
template <class T, class Kernel>
Tensor pointwise(Kernel kernel, const Tensor& x) {
  const Tensor dense = raw::contiguous(x);
  Tensor y = Tensor::empty(x.shape(), x.dtype());
  pointwise<T>(kernel, y, dense);
  return y;
}

// dx = kernel(kept, dy). Overwrites dy if no other handle shares it.
template <class T, class Kernel>
Tensor pointwise_backward(Kernel kernel, const Tensor& kept, Tensor dy) {
  const bool in_place = dy.unique() && dy.is_contiguous();
  Tensor dx = in_place ? dy : Tensor::empty(dy.shape(), dy.dtype());
  pointwise<T>(kernel, dx, raw::contiguous(kept), raw::contiguous(dy));
  return dx;
}

}  // namespace weft::detail
