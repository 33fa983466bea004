/// \file
/// Optimizers: how gradients change a model's parameters.
#pragma once
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "weft/parameter_set.h"
#include "weft/update_rules.h"
#include "weft/visibility.h"

WEFT_PUBLIC_BEGIN
namespace weft {

/// A group of parameters with its own learning rate or weight decay.
struct ParameterGroup {
  std::string name;  ///< a parameter, or a layer: "blocks.1" has every parameter that begins with "blocks.1."
  double rate = 1;   ///< multiplies the learning rate; 0: the parameters don't change
  std::optional<double> weight_decay = {};  ///< of the group's matrices; no value: OptimizerOptions::weight_decay
};

/// The name of an optimizer and those of its options that differ from their defaults:
/// `options.optimizer = {"sgd", {{"momentum", 0.95}}};`
struct OptimizerOptions {
  std::string name = "adamw";              ///< one of optimizers()
  std::map<std::string, double> own = {};  ///< options that only this optimizer has, see OptimizerInfo
  /// The weight decay of matrices (parameters of rank 2 or more). If there is no value, the optimizer's default
  /// applies.
  std::optional<double> weight_decay = {};
  double clip = 1;  ///< the maximum norm of the gradient; 0: no limit
  /// Groups of parameters. A parameter belongs to the first group that contains it, or to no group.
  std::vector<ParameterGroup> groups = {};
};

/// The description of an optimizer and its options.
struct OptimizerInfo {
  /// One of the optimizer's options.
  struct Option {
    std::string name;   ///< its key in OptimizerOptions::own
    double usual = 0;   ///< its default
    double lowest = 0;  ///< the minimum of the range lowest <= value < end
    /// The end of the range. If it is infinite, any finite value from `lowest` is allowed.
    double end = std::numeric_limits<double>::infinity();
    std::string meaning = {};  ///< a one-line description
  };
  std::string name;              ///< the name that OptimizerOptions::name takes
  std::vector<Option> own = {};  ///< its options other than weight decay and clip
  double weight_decay = 0;       ///< its default weight decay
  double rate = 1;               ///< its default learning rate, as a multiple of AdamW's
};

/// The parameters of a group in flat buffers: first the matrices, then the vectors. Each parameter begins at a multiple
/// of 64 bytes, with zeros in the gaps.
struct ParameterRange {
  Tensor values;                                  ///< (n), f32 or f64
  Tensor gradients;                               ///< (n), of the same dtype
  std::vector<Tensor> states = {};                ///< buffers (n), zero before the first step
  std::vector<ParameterSet::Entry> entries = {};  ///< the parameters, with their offsets in this range
};

/// A custom optimizer.
struct OptimizerKind : OptimizerInfo {
  std::size_t states = 0;  ///< the number of state buffers, each as large as all parameters
  /// Changes the values and states of a range in place, without replacing a tensor. The values in `step.own` are in the
  /// same order as the options in `own`. The Optimizer calls this function once per group in each step. If the function
  /// throws an exception for the second or a later group, only some groups have been updated.
  std::function<void(ParameterRange& range, const UpdateStep& step)> update = {};
};

/// Adds an optimizer to weft's own, for the rest of the process. Throws an Error and adds nothing if its name is taken,
/// if it has no name or no `update`, if the default of an option is out of range, or if the name of an option is also
/// the name of a run's setting. Any thread may call it at any time.
void register_optimizer(OptimizerKind kind);

/// Returns all optimizers, with their options and defaults, as `weft train --help` prints them.
std::vector<OptimizerInfo> optimizers();

/// Updates a model's parameters. The parameters of a group are adjacent in the flat buffers, with the matrices first,
/// so each group is updated in one pass over one range. Not thread-safe.
class Optimizer {
 public:
  /// Throws an Error and changes nothing if the optimizer or an option is unknown, if a value is out of its range, or
  /// if a group has no parameters.
  Optimizer(const NamedParameters& parameters, const OptimizerOptions& options);

  /// The values, gradients and states in flat buffers. Call zero_gradients(), let Tape::backward() add to the
  /// gradients, then call step().
  ParameterSet& parameters() noexcept { return set_; }
  /// Makes one update with the gradients in parameters(). Steps count from 1. Returns the norm of the gradient before
  /// clipping. If parameters were frozen after the optimizer was made, they keep their values and states, and their
  /// gradients are set to 0. If the norm is not finite or memory runs out, it throws an Error and changes nothing else.
  double step(std::int64_t step, double learning_rate);
  std::size_t states() const noexcept;  ///< number of state buffers, each as large as all parameters
  /// The name and every option as a JSON object: {"optimizer":"sgd","momentum":0.9,"weight-decay":0,"clip":1}. If there
  /// are groups, the object also has "groups":[{"name":"embedding","rate":0.1,"weight-decay":0}].
  std::string description() const;

 private:
  struct Group {
    double rate, weight_decay;
    std::int64_t matrices;  // number of elements of the matrices, which begin the range
    ParameterRange range;
  };
  std::vector<Group> groups();
  void check_in_place(const Group& group);

  const OptimizerKind& kind_;
  OptimizerOptions options_;
  UpdateStep options_of_steps_;  // the settings that are the same in every step
  ParameterSet set_;
  std::vector<Group> groups_;
};

}  // namespace weft
WEFT_PUBLIC_END
