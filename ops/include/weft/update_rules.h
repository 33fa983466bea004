/// \file
/// Optimizer update rules as pure functions over flat f32 or f64 tensors of one shape, in place, in one pass. After an
/// Error nothing is changed. update() is for rules by name; those that most programs want have functions, too.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "weft/tensor.h"

#pragma GCC visibility push(default)
namespace weft {

/// An option that is an update rule's own: lowest <= value < end.
struct RuleOption {
  const char* name;     ///< on the command line, in a state file and in messages
  double usual;         ///< its default
  double lowest;        ///< of its range
  double end;           ///< of its range; infinite: any finite value
  const char* meaning;  ///< a line of text
};

/// An update rule for people and programs to choose.
struct UpdateRule {
  const char* name;                 ///< what update() takes
  std::size_t states;               ///< tensors like p that it keeps, zeros before the first step
  std::vector<RuleOption> options;  ///< those besides weight decay
  double weight_decay;              ///< the usual one
  double rate;                      ///< the usual learning rate, as a multiple of AdamW's
};

/// All of them: adamw, adam, sgd, lion.
const std::vector<UpdateRule>& update_rules();

/// How a step changes p.
struct UpdateStep {
  std::int64_t step = 1;                     ///< counts from 1
  double lr = 0;                             ///< the learning rate
  std::vector<double> own = {};              ///< the rule's options, in their order
  double weight_decay = 0;                   ///< of p
  std::optional<std::int64_t> decayed = {};  ///< the first elements of p, which alone are decayed; none: all
  double grad_scale = 1;                     ///< grad is scaled by it when it is read (gradient clipping)
};

/// One step of the rule of that name. All tensors are contiguous, of one shape and dtype, states as many as the rule has. Error
/// for a rule that there isn't, and for options that aren't in their ranges.
void update(const std::string& rule, Tensor& p, const Tensor& grad, std::vector<Tensor>& states,
            const UpdateStep& step);

/// Of adam and adamw.
struct AdamOptions {
  double lr = 1e-3;                          ///< the learning rate
  double beta1 = 0.9;                        ///< decay of the gradient's running mean, 0 <= beta1 < 1
  double beta2 = 0.999;                      ///< decay of its square's, 0 <= beta2 < 1
  double eps = 1e-8;                         ///< >= 0
  double weight_decay = 0;                   ///< of p
  std::optional<std::int64_t> decayed = {};  ///< the first elements of p, which alone are decayed; none: all
};

/// p -= lr · m̂ / (√v̂ + eps), both bias-corrected, with weight_decay · p added to the gradient (Kingma and Ba 2015,
/// arXiv 1412.6980). step counts from 1. m, v: the running moments, zeros at first. grad is scaled by grad_scale when
/// it is read (gradient clipping). All tensors are contiguous, of one shape and dtype.
void adam(Tensor& p, const Tensor& grad, Tensor& m, Tensor& v, std::int64_t step, const AdamOptions& options,
          double grad_scale = 1);
/// The same, but p is first scaled by 1 - lr · weight_decay instead (Loshchilov and Hutter 2019, arXiv 1711.05101).
void adamw(Tensor& p, const Tensor& grad, Tensor& m, Tensor& v, std::int64_t step, const AdamOptions& options,
           double grad_scale = 1);

/// Of sgd.
struct SgdOptions {
  double lr = 1e-2;                          ///< the learning rate
  double momentum = 0;                       ///< 0 <= momentum < 1
  double weight_decay = 0;                   ///< of p
  std::optional<std::int64_t> decayed = {};  ///< as AdamOptions'
};

/// g = grad + weight_decay · p; buf = momentum · buf + g (at step 1: g); p -= lr · buf. Otherwise as adam.
void sgd(Tensor& p, const Tensor& grad, Tensor& buf, std::int64_t step, const SgdOptions& options,
         double grad_scale = 1);

/// ‖x‖₂ of a flat tensor, summed in f64 in a fixed order.
double l2_norm(const Tensor& x);

}  // namespace weft
#pragma GCC visibility pop
