// layer_norm and rms_norm.
#include <algorithm>
#include <cmath>

#include "base/common.h"
#include "base/fused.h"
#include "pointwise/kernels/elementwise.h"
#include "pointwise/records.h"
#include "rows/kernels/norm.h"
#include "weft/context.h"
#include "weft/detail/out_of_memory.h"
#include "weft/detail/tensor_text.h"
#include "weft/rows.h"
#include "weft/shape.h"

namespace weft {
using namespace detail;

namespace {

// The number of rows of n elements whose contributions to dgamma and dbeta form a block. A block is also a task of
// backward. The number determines the order of the additions, and therefore the result. Larger: threads are idle.
// Smaller: more partial sums.
// bench: weft-bench --benchmark_filter=layer-norm-backward
std::int64_t block_rows(std::int64_t n) { return std::clamp<std::int64_t>((1 << 16) / n, 4, 64); }

enum class Kind { layer, rms };

// Both norms are taken over the last axes, which have n elements in total:
//   layer_norm: x̂ = (x - avg(x)) / √(avg((x - avg(x))²) + eps),  rms_norm: x̂ = x / (‖x‖₂/√n + eps)
//   y = x̂ ⊙ gamma + beta. An undefined gamma is 1, an undefined beta is 0.
// With g = dy ⊙ gamma and the factor r for which x̂ = (x - mean) r:
//   layer_norm: dx = r (g - avg(g) - x̂ avg(g x̂)),  rms_norm: dx = r (g - x̂ avg(g x̂) (‖x‖₂/√n + eps) / (‖x‖₂/√n))
//   dgamma = sum of dy x̂, dbeta = sum of dy, both over the other axes.
// For a bf16 x, y and dx are bf16. gamma, beta and their gradients are f32.
struct NormOp : Op {
  Kind kind;
  std::int64_t axes;
  double eps;
  bool has_gamma, has_beta;  // inputs 1 and 2; without gamma, beta is input 1
  Tensor stats;              // (rows, 2), in the format of the kernels

  NormOp(Kind k, std::int64_t last_axes, double epsilon, bool gamma, bool beta)
      : kind(k), axes(last_axes), eps(epsilon), has_gamma(gamma), has_beta(beta) {}
  const char* name() const noexcept override { return kind == Kind::layer ? "layer_norm" : "rms_norm"; }
  bool cheap() const override { return true; }
  bool keeps_input(std::size_t i, const std::vector<bool>&) const override { return i == 0 || (has_gamma && i == 1); }

  Shape shape(const Inputs& in) const override {
    const Tensor& x = in[0];
    check_floating(name(), x);
    if (axes < 1 || axes > x.rank())
      fail(name(), "expected at least 1 and at most " + std::to_string(x.rank()) + " axes of " + describe(x) +
                       ", got " + std::to_string(axes));
    if (!(eps >= 0) || std::isinf(eps)) fail(name(), "expected a finite eps >= 0, got " + std::to_string(eps));
    const Shape normalized(x.shape().end() - axes, x.shape().end());
    for (std::size_t i = 1; i < in.size(); ++i)
      if (in[i].dtype() != computed_of(x.dtype()) || in[i].shape() != normalized)
        fail(name(), std::string("expected ") + (has_gamma && i == 1 ? "weight" : "bias") + " to be " +
                         tensor_text(computed_of(x.dtype()), normalized) +
                         (x.dtype() == DType::bf16 ? " for a bf16 x" : "") + ", got " + describe(in[i]));
    return x.shape();
  }

  Tensor forward(const Inputs& in, const Shape& shape) override { return normalized(in, shape, Tensor(), Tensor()); }

  // Normalizes in[0] + residual, or in[0] if residual is undefined. Unless `sum` is undefined, it receives the sum.
  Tensor normalized(const Inputs& in, const Shape& shape, const Tensor& residual, Tensor sum) {
    Tensor y = Tensor::empty(shape, in[0].dtype());
    if (y.numel() == 0) return y;
    const std::int64_t n = row_length(shape), rows = y.numel() / n;
    const Tensor x = as_rows(in[0], axes), added = residual.defined() ? as_rows(residual, axes) : Tensor();
    const DType wide = computed_of(x.dtype());
    const Tensor scale = gamma(n, wide, has_gamma ? in[1] : Tensor());
    Tensor shift;  // only for layer_norm
    if (kind == Kind::layer) shift = has_beta ? raw::contiguous(in.back()) : Tensor::zeros({n}, wide);
    if (recording) stats = Tensor::empty({rows, 2}, wide);
    with_floating(name(), x.dtype(), [&](auto* type) {
      using T = element_of<decltype(type)>;
      using C = Computed<T>;
      const NormKernels<T>& kernel = kernels<NormKernels<T>>();
      const auto add = kernels<ElementwiseKernels<T>>().add.both;
      T* to = y.mutable_data<T>();
      C* stat = recording ? stats.mutable_data<C>() : nullptr;
      T* sums = sum.defined() ? sum.mutable_data<T>() : nullptr;
      const auto run = [&](const T* from, std::int64_t row, std::int64_t begin, std::int64_t end) {
        C* own = stat ? stat + 2 * begin : nullptr;
        if (kind == Kind::layer)
          kernel.layer(from, row, scale.data<C>(), shift.data<C>(), eps, to + begin * n, own, end - begin, n);
        else kernel.rms(from, row, scale.data<C>(), eps, to + begin * n, own, end - begin, n);
      };
      for_rows(rows, n, [&](std::int64_t begin, std::int64_t end) {
        const T* from = x.data<T>();
        const std::int64_t row = x.strides()[0];
        if (!added.defined()) return run(from + begin * row, row, begin, end);
        for (std::int64_t r = begin; r < end; ++r) {  // normalizes each row of the sum while it is in cache
          T* own = sums ? sums + r * n : to + r * n;
          add(from + r * row, added.data<T>() + r * added.strides()[0], own, n);
          run(own, n, r, r + 1);
        }
      });
    });
    return y;
  }

  void backward(Backward& b) const override {
    const Shape& shape = b.input_shape(0);
    if (numel(shape) == 0) return add_zeros(b);
    const bool wants_parameters = (has_gamma && b.needs(1)) || (has_beta && b.needs(beta_input()));
    const std::int64_t n = row_length(shape), rows = numel(shape) / n, block = block_rows(n);
    const Tensor x = as_rows(b.input(0), axes);
    const std::int64_t x_row = x.strides()[0];
    const DType wide = computed_of(x.dtype());
    const Tensor scale = gamma(n, wide, has_gamma ? b.input(1) : Tensor());
    const Tensor dy = raw::contiguous(b.take_gradient());
    const bool in_place = dy.unique();
    Tensor partial;  // sums over blocks of rows, for dgamma and dbeta
    if (wants_parameters) partial = Tensor::empty({(rows - 1) / block + 1, 2, n}, wide);
    const auto run = [&](Tensor dx) {  // dx is undefined if it isn't needed
      with_floating(name(), x.dtype(), [&](auto* type) {
        using T = element_of<decltype(type)>;
        using C = Computed<T>;
        const NormKernels<T>& kernels_of = kernels<NormKernels<T>>();
        const auto kernel = kind == Kind::layer ? kernels_of.layer_backward : kernels_of.rms_backward;
        T* to = dx.defined() ? dx.mutable_data<T>() : nullptr;
        const std::int64_t dx_row = dx.defined() ? dx.strides()[0] : 0;
        C* sums = partial.defined() ? partial.mutable_data<C>() : nullptr;
        Context::current().parallel_for(rows, block, [&](std::int64_t begin, std::int64_t end) {
          C *own = sums ? sums + begin / block * 2 * n : nullptr, *shifts = own ? own + n : nullptr;
          kernel(x.data<T>() + begin * x_row, x_row, scale.data<C>(), stats.data<C>() + 2 * begin,
                 dy.data<T>() + begin * n, to ? to + begin * dx_row : nullptr, dx_row, own, shifts, end - begin, n);
        });
      });
    };
    if (b.needs(0))
      b.write(0, [&](Tensor& dx) {
        const bool in_rows = dx.defined() && has_contiguous_rows(dx) && as_matrix(dx, axes).storage() == dx.storage();
        if (!in_rows) dx = in_place ? dy : Tensor::empty(shape, x.dtype());
        run(as_matrix(dx, axes));
      });
    else run({});
    if (!wants_parameters) return;
    const Tensor both = sum(partial, {0});
    if (has_gamma && b.needs(1)) b.add(1, parameter_gradient(both, 0, b.input_shape(1)));
    if (has_beta && b.needs(beta_input()))
      b.add(beta_input(), parameter_gradient(both, 1, b.input_shape(beta_input())));
  }

 private:
  std::size_t beta_input() const { return has_gamma ? 2 : 1; }
  std::int64_t row_length(const Shape& shape) const { return numel(Shape(shape.end() - axes, shape.end())); }

  static Tensor gamma(std::int64_t n, DType dtype, const Tensor& given) {
    return given.defined() ? raw::contiguous(given) : Tensor::full({n}, 1, dtype);
  }

  template <class F>
  static void for_rows(std::int64_t rows, std::int64_t n, F f) {
    Context::current().parallel_for(rows, rows_per_task(n), f);
  }

  void add_zeros(Backward& b) const {
    const DType dtype = b.gradient().dtype();
    for (std::size_t i = 0; i < 1u + has_gamma + has_beta; ++i)
      if (b.needs(i)) b.add(i, Tensor::zeros(b.input_shape(i), i == 0 ? dtype : computed_of(dtype)));
  }

  static Tensor parameter_gradient(const Tensor& both, std::int64_t which, const Shape& shape) {
    return reshape(slice(both, 0, which, which + 1), shape);
  }
};

// The norm of in[0] + residual, or of in[0] if residual is undefined, in one pass.
Tensor norm_of_sum(NormOp op, Inputs in, const Tensor& residual) {
  if (!residual.defined()) return weft::apply_op(std::move(op), in);
  const Shape shape = op.shape(in);
  const Tensor x = in[0];
  if (residual.dtype() != x.dtype() || residual.shape() != shape)
    fail(op.name(), "expected residual to be " + describe(x) + ", like x, got " + describe(residual));
  auto norm = std::make_unique<NormOp>(std::move(op));
  NormOp& own = *norm;  // saves the statistics for backward
  const Inputs given = in;
  in[0] = Tensor();
  return apply_fused({add_op(), {x, residual}}, {std::move(norm), std::move(in)}, 0, shape, x.dtype(),
                     [&](const Tensor& sum) { return own.normalized(given, shape, residual, sum); });
}

}  // namespace

Tensor layer_norm(const Tensor& x, std::int64_t axes, const Tensor& weight, const Tensor& bias, double eps,
                  const Tensor& residual) {
  return guard_memory("layer_norm", [&] {
    Inputs in{x};
    if (weight.defined()) in.push_back(weight);
    if (bias.defined()) in.push_back(bias);
    return norm_of_sum(NormOp(Kind::layer, axes, eps, weight.defined(), bias.defined()), in, residual);
  });
}

Tensor rms_norm(const Tensor& x, const Tensor& weight, double eps, const Tensor& residual) {
  return guard_memory("rms_norm", [&] {
    Inputs in{x};
    if (weight.defined()) in.push_back(weight);
    return norm_of_sum(NormOp(Kind::rms, 1, eps, weight.defined(), false), in, residual);
  });
}

}  // namespace weft
