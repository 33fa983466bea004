/// \file
/// The update rules of optimizers: functions that update flat f32 or f64 tensors in place, in one pass. If they throw
/// an Error, they have changed nothing. update() runs the rule with a given name. For adam, adamw and sgd there are
/// also separate functions.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "weft/tensor.h"
#include "weft/visibility.h"

WEFT_PUBLIC_BEGIN
namespace weft {

/// An option of an update rule. Its value must satisfy lowest <= value < end.
struct RuleOption {
  const char* name;     ///< its name on the command line, in state files and in messages
  double usual;         ///< the default value
  double lowest;        ///< the minimum value
  double end;           ///< the exclusive upper bound; if infinite, any finite value is allowed
  const char* meaning;  ///< a description for users, in one line
};

/// A description of an update rule, for programs that let their users choose a rule.
struct UpdateRule {
  const char* name;                 ///< the name that update() takes
  std::size_t states;               ///< number of state tensors; they have p's shape and dtype, and start as zeros
  std::vector<RuleOption> options;  ///< the rule's options, except weight decay
  double weight_decay;              ///< the default weight decay
  double rate;                      ///< the default learning rate, as a multiple of AdamW's default
};

/// All update rules: adamw, adam, sgd and lion.
const std::vector<UpdateRule>& update_rules();

/// The parameters of a step.
struct UpdateStep {
  std::int64_t step = 1;                     ///< the number of this step, counted from 1
  double lr = 0;                             ///< the learning rate
  std::vector<double> own = {};              ///< the values of the rule's options, in the order of UpdateRule::options
  double weight_decay = 0;                   ///< weight decay of p
  std::optional<std::int64_t> decayed = {};  ///< weight decay applies to the first `decayed` elements (default: all)
  double grad_scale = 1;                     ///< the factor by which the step multiplies grad, for gradient clipping
};

/// Updates the parameters p by one step of the named rule. All tensors are contiguous and have the same shape and
/// dtype, f32 or f64. `states` has as many tensors as the rule has states. Error for an unknown rule, and for options
/// outside their ranges.
void update(const std::string& rule, Tensor& p, const Tensor& grad, std::vector<Tensor>& states,
            const UpdateStep& step);

/// Options of adam and adamw.
struct AdamOptions {
  double lr = 1e-3;                          ///< the learning rate
  double beta1 = 0.9;                        ///< decay of the running mean of the gradient, 0 <= beta1 < 1
  double beta2 = 0.999;                      ///< decay of the running mean of the squared gradient, 0 <= beta2 < 1
  double eps = 1e-8;                         ///< added to the denominator, >= 0
  double weight_decay = 0;                   ///< weight decay of p
  std::optional<std::int64_t> decayed = {};  ///< weight decay applies to the first `decayed` elements (default: all)
};

/// One step of Adam (Kingma and Ba 2015, arXiv 1412.6980): p -= lr · m̂ / (√v̂ + eps). m and v are the running means of
/// the gradient and of its square, initially 0; m̂ and v̂ are these means with bias correction. The gradient is
/// grad_scale · grad + weight_decay · p. Use grad_scale for gradient clipping. The first step has number 1. All tensors
/// are contiguous and have the same shape and dtype.
void adam(Tensor& p, const Tensor& grad, Tensor& m, Tensor& v, std::int64_t step, const AdamOptions& options,
          double grad_scale = 1);
/// One step of AdamW (Loshchilov and Hutter 2019, arXiv 1711.05101). adamw is like adam, but weight decay does not
/// change the gradient. Instead, p is first multiplied by 1 - lr · weight_decay.
void adamw(Tensor& p, const Tensor& grad, Tensor& m, Tensor& v, std::int64_t step, const AdamOptions& options,
           double grad_scale = 1);

/// Options of sgd.
struct SgdOptions {
  double lr = 1e-2;                          ///< the learning rate
  double momentum = 0;                       ///< 0 <= momentum < 1
  double weight_decay = 0;                   ///< weight decay of p
  std::optional<std::int64_t> decayed = {};  ///< see AdamOptions
};

/// One step of stochastic gradient descent with momentum: g = grad_scale · grad + weight_decay · p;
/// buf = momentum · buf + g, but buf = g at step 1; p -= lr · buf. buf is the state, initially 0. The other arguments
/// have the same meaning as in adam.
void sgd(Tensor& p, const Tensor& grad, Tensor& buf, std::int64_t step, const SgdOptions& options,
         double grad_scale = 1);

/// The 2-norm ‖x‖₂ of all elements of x. The squares are summed in f64, in a fixed order.
double l2_norm(const Tensor& x);

}  // namespace weft
WEFT_PUBLIC_END
