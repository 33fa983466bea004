// The update rules of AdamW, Adam and SGD, and the norm of a flat tensor.
#include "weft/update_rules.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/common.h"
#include "base/kernels/reduce.h"
#include "pointwise/kernels/optimizer.h"
#include "weft/context.h"
#include "weft/detail/out_of_memory.h"

namespace weft {
using namespace detail;

namespace {

// Elements of l2_norm whose squares are added in one go: a task, and part of what the norm is, as it sets the order of
// the additions. bench: weft-bench --benchmark_filter=adamw-clip
constexpr std::int64_t norm_block = 1 << 14;

// All tensors contiguous, of p's real dtype and shape; step >= 1.
void check_update(const char* op, std::int64_t step, const Tensor& p, std::initializer_list<const Tensor*> others) {
  check_real(op, p);
  if (!p.is_contiguous()) fail(op, "expected contiguous parameters, got strides " + to_string(p.strides()));
  for (const Tensor* other : others) {
    if (!other->defined() || other->dtype() != p.dtype() || other->shape() != p.shape())
      fail(op, "expected " + describe(p) + " for each of parameters, gradients and state, got " + describe(*other));
    if (!other->is_contiguous()) fail(op, "expected contiguous tensors, got strides " + to_string(other->strides()));
  }
  if (step < 1) fail(op, "steps count from 1, got " + std::to_string(step));
}

// The elements of p that are decayed. Error if there are more than there are elements.
std::int64_t checked_decayed(const char* op, const Tensor& p, std::optional<std::int64_t> decayed) {
  if (decayed && (*decayed < 0 || *decayed > p.numel()))
    fail(op, "expected 0 to " + std::to_string(p.numel()) + " elements to be decayed, got " + std::to_string(*decayed));
  return decayed.value_or(p.numel());
}

// Calls update(begin, end, constants) for pieces of [0, n), with the first constants for those that are decayed. What
// may fail has failed before the first call.
template <class Constants, class Update>
void for_decayed_and_others(std::int64_t n, std::int64_t decayed, const Constants& with, const Constants& without,
                            const Update& update) {
  Context::current().parallel_for(n, task_elements, [&](std::int64_t begin, std::int64_t end) {
    const std::int64_t middle = std::clamp(decayed, begin, end);
    if (begin < middle) update(begin, middle, with);
    if (middle < end) update(middle, end, without);
  });
}

// l2 is added to the gradient times p, decay multiplies p.
void adam_update(const char* op, Tensor& p, const Tensor& grad, Tensor& m, Tensor& v, std::int64_t step,
                 const AdamOptions& o, double grad_scale, double l2, double decay) {
  guard_memory(op, [&] {
    check_update(op, step, p, {&grad, &m, &v});
    if (!(o.beta1 >= 0 && o.beta1 < 1 && o.beta2 >= 0 && o.beta2 < 1 && o.eps >= 0) || !std::isfinite(o.lr))
      fail(op, "expected 0 <= beta < 1, eps >= 0 and a finite lr, got " + std::to_string(o.beta1) + ", " +
                   std::to_string(o.beta2) + ", " + std::to_string(o.eps) + " and " + std::to_string(o.lr));
    const std::int64_t decayed = checked_decayed(op, p, o.decayed);
    const double t = static_cast<double>(step);
    const double mean_correction = 1 - std::pow(o.beta1, t), square_correction = 1 - std::pow(o.beta2, t);
    with_real(op, p.dtype(), [&](auto* type) {
      using T = element_of<decltype(type)>;
      const AdamUpdate<T> update{static_cast<T>(grad_scale),
                                 static_cast<T>(l2),
                                 static_cast<T>(o.beta1),
                                 static_cast<T>(1 - o.beta1),
                                 static_cast<T>(o.beta2),
                                 static_cast<T>(1 - o.beta2),
                                 static_cast<T>(decay),
                                 static_cast<T>(o.lr / mean_correction),
                                 static_cast<T>(1 / std::sqrt(square_correction)),
                                 static_cast<T>(o.eps)};
      AdamUpdate<T> undecayed = update;
      undecayed.l2 = 0;
      undecayed.decay = 1;
      const auto kernel = kernels<OptimizerKernels<T>>().adam;
      const T* g = grad.data<T>();
      T *value = p.mutable_data<T>(), *mean = m.mutable_data<T>(), *square = v.mutable_data<T>();
      for_decayed_and_others(p.numel(), decayed, update, undecayed, [&](auto begin, auto end, const AdamUpdate<T>& u) {
        kernel(u, value + begin, g + begin, mean + begin, square + begin, end - begin);
      });
    });
  });
}

}  // namespace

void adam(Tensor& p, const Tensor& grad, Tensor& m, Tensor& v, std::int64_t step, const AdamOptions& options,
          double grad_scale) {
  adam_update("adam", p, grad, m, v, step, options, grad_scale, options.weight_decay, 1);
}

void adamw(Tensor& p, const Tensor& grad, Tensor& m, Tensor& v, std::int64_t step, const AdamOptions& options,
           double grad_scale) {
  adam_update("adamw", p, grad, m, v, step, options, grad_scale, 0, 1 - options.lr * options.weight_decay);
}

void sgd(Tensor& p, const Tensor& grad, Tensor& buf, std::int64_t step, const SgdOptions& options, double grad_scale) {
  guard_memory("sgd", [&] {
    check_update("sgd", step, p, {&grad, &buf});
    const std::int64_t decayed = checked_decayed("sgd", p, options.decayed);
    with_real("sgd", p.dtype(), [&](auto* type) {
      using T = element_of<decltype(type)>;
      const SgdUpdate<T> update{static_cast<T>(grad_scale), static_cast<T>(options.weight_decay),
                                static_cast<T>(options.momentum), static_cast<T>(options.lr), step == 1};
      SgdUpdate<T> undecayed = update;
      undecayed.l2 = 0;
      const auto kernel = kernels<OptimizerKernels<T>>().sgd;
      const T* g = grad.data<T>();
      T *value = p.mutable_data<T>(), *velocity = buf.mutable_data<T>();
      for_decayed_and_others(p.numel(), decayed, update, undecayed, [&](auto begin, auto end, const SgdUpdate<T>& u) {
        kernel(u, value + begin, g + begin, velocity + begin, end - begin);
      });
    });
  });
}

double l2_norm(const Tensor& x) {
  return guard_memory("l2_norm", [&] {
    check_floating("l2_norm", x);
    const Tensor dense = raw::contiguous(x);
    std::vector<double> squares(static_cast<std::size_t>((x.numel() + norm_block - 1) / norm_block));
    with_floating("l2_norm", x.dtype(), [&](auto* type) {
      using T = element_of<decltype(type)>;
      const auto kernel = kernels<ReduceKernels<T>>().sum_squares;
      Context::current().parallel_for(x.numel(), norm_block, [&](std::int64_t begin, std::int64_t end) {
        squares[static_cast<std::size_t>(begin / norm_block)] = kernel(dense.data<T>() + begin, end - begin);
      });
    });
    double sum = 0;
    for (double s : squares) sum += s;
    return std::sqrt(sum);
  });
}

}  // namespace weft
