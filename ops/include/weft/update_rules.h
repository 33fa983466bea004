/// \file
/// Optimizer update rules: functions that update flat f32 or f64 tensors of the same shape in place, in one pass. If
/// they throw an Error, they have changed nothing. update() runs rules by name. The most common rules also have
/// their own functions.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "weft/tensor.h"

#pragma GCC visibility push(default)
namespace weft {

/// An option of a single update rule, with the range lowest <= value < end.
struct RuleOption {
  const char* name;     ///< on the command line, in a state file and in messages
  double usual;         ///< the default
  double lowest;        ///< the minimum
  double end;           ///< the exclusive upper bound; infinite: any finite value
  const char* meaning;  ///< the description, one line of text
};

/// A description of an update rule, from which people and programs choose.
struct UpdateRule {
  const char* name;                 ///< the name that update() takes
  std::size_t states;               ///< the number of state tensors like p, zero before the first step
  std::vector<RuleOption> options;  ///< the rule's options except weight decay
  double weight_decay;              ///< the default
  double rate;                      ///< the default learning rate as a multiple of AdamW's
};

/// All rules: adamw, adam, sgd, lion.
const std::vector<UpdateRule>& update_rules();

/// The parameters of a step.
struct UpdateStep {
  std::int64_t step = 1;                     ///< counts from 1
  double lr = 0;                             ///< the learning rate
  std::vector<double> own = {};              ///< values of the rule's options, in their order
  double weight_decay = 0;                   ///< weight decay of p
  std::optional<std::int64_t> decayed = {};  ///< only the first `decayed` elements of p are decayed; none: all
  double grad_scale = 1;                     ///< a factor for grad (gradient clipping)
};

/// One step of the named rule. All tensors are contiguous and have the same shape and dtype. `states` has as many
/// tensors as the rule has states. Error for an unknown rule and for options outside their ranges.
void update(const std::string& rule, Tensor& p, const Tensor& grad, std::vector<Tensor>& states,
            const UpdateStep& step);

/// Options of adam and adamw.
struct AdamOptions {
  double lr = 1e-3;                          ///< the learning rate
  double beta1 = 0.9;                        ///< decay of the gradient's running mean, 0 <= beta1 < 1
  double beta2 = 0.999;                      ///< decay of the running mean of its square, 0 <= beta2 < 1
  double eps = 1e-8;                         ///< >= 0
  double weight_decay = 0;                   ///< weight decay of p
  std::optional<std::int64_t> decayed = {};  ///< only the first `decayed` elements of p are decayed; none: all
};

/// p -= lr · m̂ / (√v̂ + eps), with bias correction of both and weight_decay · p added to the gradient (Kingma and Ba
/// 2015, arXiv 1412.6980). step counts from 1. m and v are the running moments, initially zero. grad is multiplied by
/// grad_scale (gradient clipping). All tensors are contiguous and have the same shape and dtype.
void adam(Tensor& p, const Tensor& grad, Tensor& m, Tensor& v, std::int64_t step, const AdamOptions& options,
          double grad_scale = 1);
/// Like adam, but instead p is first scaled by 1 - lr · weight_decay (Loshchilov and Hutter 2019, arXiv 1711.05101).
void adamw(Tensor& p, const Tensor& grad, Tensor& m, Tensor& v, std::int64_t step, const AdamOptions& options,
           double grad_scale = 1);

/// Options of sgd.
struct SgdOptions {
  double lr = 1e-2;                          ///< the learning rate
  double momentum = 0;                       ///< 0 <= momentum < 1
  double weight_decay = 0;                   ///< weight decay of p
  std::optional<std::int64_t> decayed = {};  ///< see AdamOptions
};

/// g = grad + weight_decay · p; buf = momentum · buf + g (at step 1: g); p -= lr · buf. The other arguments are those
/// of adam.
void sgd(Tensor& p, const Tensor& grad, Tensor& buf, std::int64_t step, const SgdOptions& options,
         double grad_scale = 1);

/// ‖x‖₂ of a flat tensor, summed in f64 in a fixed order.
double l2_norm(const Tensor& x);

}  // namespace weft
#pragma GCC visibility pop
